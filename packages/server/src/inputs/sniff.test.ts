import { expect, test } from 'vitest';
import { describeNonImage, sniffImage } from './sniff.js';

const bytes = (text: string) => Buffer.from(text, 'latin1');

test.each([
  ['png', '\x89PNG\r\n\x1a\n....'],
  ['jpeg', '\xff\xd8\xff\xe0....'],
  ['webp', 'RIFF....WEBPVP8 '],
  ['gif', 'GIF89a....'],
  ['tiff', 'II*\0....'],
  ['heif', '\0\0\0\x20ftypavif'],
])('%s is known by its first bytes', (kind, start) => expect(sniffImage(bytes(start))).toBe(kind));

test.each([
  ['nothing', ''],
  ['an HTML page', '\xef\xbb\xbf <!DOCTYPE html><html>'],
  ['an SVG drawing', '<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg">'],
  ['a PDF document', '%PDF-1.7'],
  ['JSON', '{"error":"not found"}'],
  ['something else', '\0\0\0\x20ftypisom'],
])('%s is no photo, whatever it is called', (name, start) => {
  expect(sniffImage(bytes(start))).toBeUndefined();
  expect(describeNonImage(bytes(start))).toBe(name);
});
