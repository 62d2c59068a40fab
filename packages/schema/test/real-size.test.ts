import { expect, test } from 'vitest';
import { describeRealSize, readRealSize, realSizeOptions } from '../src/rules.js';

test.each([
  [{ size: '80mm' }, { side: 'longest', meters: 0.08 }],
  [{ height: ' 8 CM' }, { side: 'height', meters: 0.08 }],
  [
    { width: '0.3m', size: undefined },
    { side: 'width', meters: 0.3 },
  ],
  [{}, undefined],
])('%j becomes options of a job, and is read from them', (texts, size) => {
  expect(readRealSize(realSizeOptions(texts))).toEqual(size);
});

test('a real size is described in millimeters, and from one meter in meters', () => {
  expect(describeRealSize({ side: 'longest', meters: 0.0762 })).toBe('76.2 mm (longest side)');
  expect(describeRealSize({ side: 'height', meters: 1 })).toBe('1 m (height)');
});

test.each([
  [{ size: '80' }, 'size: "80" has no unit. Write it as 80mm, 8cm, 0.3m or 3in'],
  [{ height: '-8mm' }, 'height: "-8mm" is not a length from 0.1mm to 10000m. Write it as 80mm, 8cm, 0.3m or 3in'],
  [{ size: '8cm', width: '3in' }, 'Use only one of size, height and width'],
])('%j is refused with a sentence', (texts, message) => {
  expect(() => realSizeOptions(texts)).toThrow(message);
});

test('options of a request may hold anything, and only a valid size counts', () => {
  for (const real_size of [80, null, {}, '80', 'large', '1e9m']) expect(readRealSize({ real_size })).toBeUndefined();
  expect(readRealSize({ size: '80mm', height: 1024 })).toBeUndefined();
  expect(readRealSize({ real_size: 'large', real_height: '9cm' })).toEqual({ side: 'height', meters: 0.09 });
});
