import { expect, test } from 'vitest';
import { byteOfLinear, linearOfSrgb } from './image.js';

test('every byte survives the way to linear light and back', () => {
  for (let byte = 0; byte < 256; byte++) expect(byteOfLinear(linearOfSrgb(byte / 255))).toBe(byte);
});

test('the middle of the linear scale is the byte 188, and values outside the scale are clamped', () => {
  expect(byteOfLinear(0.5)).toBe(188);
  expect([byteOfLinear(-1), byteOfLinear(7)]).toEqual([0, 255]);
});
