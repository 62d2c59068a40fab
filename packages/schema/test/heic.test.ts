import { expect, test } from 'vitest';
import { isHeic } from '../src/heic.js';

test.each([
  ['an iPhone photo', 'ftypheic\0\0\0\0mif1heic', true],
  ['a HEIF photo whose main brand is generic', 'ftypmif1\0\0\0\0heicmif1', true],
  ['an AVIF whose main brand is generic', 'ftypmif1\0\0\0\0avifmif1', false],
  ['an MP4', 'ftypisom\0\0\0\0isommp41', false],
  ['text', 'a text that is not an image', false],
])('%s is recognized by its brands', (_, start, expected) => {
  const text = `\0\0\0${String.fromCharCode(start.length + 4)}${start} and the rest of the file`;
  expect(isHeic(Uint8Array.from(text, (char) => char.charCodeAt(0)))).toBe(expected);
});

test('an empty file is not a HEIC photo', () => {
  expect(isHeic(new Uint8Array())).toBe(false);
});
