import { expect, test } from 'vitest';
import { sniffFileType } from '../src/file-type.js';

const bytesOf = (text: string) => Uint8Array.from(text, (char) => char.charCodeAt(0));
/** The first box of an ISO media file, whose fourth byte is its length. */
const box = (start: string) => `\0\0\0${String.fromCharCode(start.length + 4)}${start} and the rest of the file`;

test.each([
  ['a PNG', '\x89PNG\r\n\x1a\n', 'png'],
  ['a JPEG', '\xff\xd8\xff\xe0', 'jpeg'],
  ['a WebP', 'RIFF\0\0\0\0WEBPVP8 ', 'webp'],
  ['another file in a RIFF container', 'RIFF\0\0\0\0WAVEfmt ', undefined],
  ['a GIF', 'GIF89a', 'gif'],
  ['a little-endian TIFF', 'II*\0', 'tiff'],
  ['a big-endian TIFF', 'MM\0*', 'tiff'],
  ['a BMP', 'BM', 'bmp'],
  ['an iPhone photo', box('ftypheic\0\0\0\0mif1heic'), 'heic'],
  ['a HEIF photo whose main brand is generic', box('ftypmif1\0\0\0\0heicmif1'), 'heic'],
  ['an AVIF', box('ftypavif\0\0\0\0mif1avif'), 'avif'],
  ['an AVIF whose main brand is generic', box('ftypmif1\0\0\0\0avifmif1'), 'avif'],
  ['an MP4', box('ftypisom\0\0\0\0isommp41'), 'video'],
  ['a video of an iPhone', box('ftypqt  \0\0\0\0qt  '), 'video'],
  ['a WebM', '\x1aE\xdf\xa3', 'video'],
  ['another ISO media file', box('ftypcrx \0\0\0\0crx '), undefined],
  ['a git-annex pointer', '/annex/objects/SHA256E-s9--4d7a.jpg', 'annex'],
  ['the metadata that macOS stores next to a photo', '\0\x05\x16\x07\0\x02\0\0', 'apple'],
  ['a gzip archive', '\x1f\x8b\x08', 'gzip'],
  ['a ZIP archive', 'PK\x03\x04', 'zip'],
  ['a file that was not copied completely', '\0'.repeat(1_024), 'zeros'],
  ['an SVG after an XML declaration', '<?xml version="1.0"?>\n<svg width="1"/>', 'svg'],
  ['an HTML page with an SVG', '\xef\xbb\xbf\n<!DOCTYPE html><svg></svg>', 'html'],
  ['a PDF', '%PDF-1.7', 'pdf'],
  ['JSON', ' {"error":"not found"}', 'json'],
  ['text', 'a text that is not an image', undefined],
  ['an empty file', '', undefined],
])('%s is recognized by its first bytes', (_, start, type) => {
  expect(sniffFileType(bytesOf(start))).toBe(type);
});
