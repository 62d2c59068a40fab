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
  ['another ISO media file', box('ftypabcd\0\0\0\0abcd'), undefined],
  ['a RAW file of a Canon', box('ftypcrx \0\0\0\0crx isom'), 'raw'],
  ['an older RAW file of a Canon', 'II*\0\x10\0\0\0CR\x02\0', 'raw'],
  ['a RAW file of a Fujifilm', 'FUJIFILMCCD-RAW 0201FF129502', 'raw'],
  ['a RAW file of an Olympus', 'IIRO\x08\0\0\0', 'raw'],
  ['a RAW file of a Panasonic', 'IIU\0\x18\0\0\0', 'raw'],
  ['a JPEG XL', '\0\0\0\x0cJXL \r\n\x87\n', 'jxl'],
  ['a JPEG XL without a container', '\xff\x0a\x01\x02', 'jxl'],
  ['a Photoshop document', '8BPS\0\x01', 'psd'],
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

/** A TIFF of one byte order with these numeric tags in its first directory, which another may follow. */
function tiff(values: Record<number, number>, { next = 0, isLittle = true, at = 8 } = {}): Uint8Array {
  const tags = Object.entries(values);
  const bytes = Buffer.alloc(at + 2 + 12 * tags.length + 4);
  const write = (value: number, offset: number, size: 2 | 4) =>
    isLittle ? bytes.writeUIntLE(value, offset, size) : bytes.writeUIntBE(value, offset, size);
  bytes.write(isLittle ? 'II*\0' : 'MM\0*', 'latin1');
  write(at, 4, 4);
  write(tags.length, at, 2);
  tags.forEach(([tag, value], index) => {
    const entry = at + 2 + 12 * index;
    write(Number(tag), entry, 2);
    write(3, entry + 2, 2);
    write(1, entry + 4, 4);
    write(value, entry + 8, 2);
  });
  write(next, at + 2 + 12 * tags.length, 4);
  return bytes;
}

test.each([
  ['a DNG of a phone', tiff({ 254: 1, 330: 9, 50706: 1 }), 'raw'],
  ['a DNG whose directory is at its end', tiff({ 50706: 1 }, { at: 5_000 }), 'raw'],
  ['a DNG of a camera, with the sensor first', tiff({ 262: 32_803 }, { isLittle: false }), 'raw'],
  ['a linear DNG', tiff({ 262: 34_892 }), 'raw'],
  ['a NEF, whose only page is a preview', tiff({ 254: 1, 330: 9 }, { isLittle: false }), 'raw'],
  ['a photo', tiff({ 254: 0, 262: 2 }), 'tiff'],
  ['a photo after its thumbnail', tiff({ 254: 1, 262: 2 }, { next: 900 }), 'tiff'],
  ['a TIFF that was cut off', tiff({ 254: 1 }).subarray(0, 9), 'tiff'],
] as const)('a TIFF that is %s is told apart by its tags', (_, bytes, type) => {
  expect(sniffFileType(bytes)).toBe(type);
});
