import { expect, test } from 'vitest';
import { fromFloat16, toFloat16 } from './float16.js';

test('every half-precision number survives conversion to single precision and back', () => {
  const all = Uint16Array.from({ length: 65_536 }, (_, bits) => bits);
  const isNotANumber = (bits: number) => (bits & 0x7c00) === 0x7c00 && (bits & 0x3ff) !== 0;
  expect(toFloat16(fromFloat16(all))).toEqual(all.map((bits) => (isNotANumber(bits) ? 0x7e00 : bits)));
});

test.each([
  [1, 0x3c00],
  [-2, 0xc000],
  [65_504, 0x7bff],
  [65_519, 0x7bff],
  [65_520, 0x7c00],
  [-1e30, 0xfc00],
  [2 ** -14, 0x0400],
  [2 ** -24, 0x0001],
  [2 ** -26, 0x0000],
  // Halfway between two: to the even one.
  [1 + 2 ** -11, 0x3c00],
  [1 + 3 * 2 ** -11, 0x3c02],
  [1.5 * 2 ** -24, 0x0002],
  [2.5 * 2 ** -24, 0x0002],
])('%f becomes %i', (value, bits) => {
  expect(toFloat16(new Float32Array([value]))[0]).toBe(bits);
});
