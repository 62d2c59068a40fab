import { expect, test } from 'vitest';
import { type FloatImage, resample } from './resample.js';

const channel = (width: number, height: number, value: (x: number, y: number) => number): FloatImage => ({
  width,
  height,
  channels: 1,
  data: Float32Array.from({ length: width * height }, (_, i) => value(i % width, Math.floor(i / width))),
});
const mean = (values: Float32Array) => values.reduce((sum, value) => sum + value, 0) / values.length;

test('a flat channel stays flat at every scale and at fractions of pixels', () => {
  const flat = channel(40, 30, () => 7);
  for (const [side, size] of [
    [20.3, 5],
    [20.3, 20],
    [3.7, 64],
  ] as const) {
    for (const value of resample(flat, { left: 4.6, top: 3.1, side }, size, 'edge')) expect(value).toBeCloseTo(7, 4);
  }
});

test('shrinking averages exact areas and keeps the mean of the window', () => {
  const noise = channel(30, 30, (x, y) => (x * 37 + y * 101) % 17);
  expect(mean(resample(noise, { left: 0, top: 0, side: 30 }, 7, 'edge'))).toBeCloseTo(mean(noise.data), 4);
});

test('an output pixel that covers parts of two pixels is their weighted mean', () => {
  const edge = channel(3, 3, (x) => (x < 1 ? 0 : 100));
  // Two output pixels over three: each covers one and a half.
  const row = resample(edge, { left: 0, top: 0, side: 3 }, 2, 'edge').subarray(0, 2);
  expect(row[0]).toBeCloseTo(100 / 3, 4);
  expect(row[1]).toBeCloseTo(100, 4);
});

test('enlarging interpolates between the centers of pixels', () => {
  const ramp = channel(8, 8, (x) => x * 10);
  const row = resample(ramp, { left: 2, top: 2, side: 4 }, 16, 'edge').subarray(0, 16);
  // Output pixel i is at x = 2 + (i + 0.5) / 4, and the center of input pixel 2 at x = 2.5.
  for (const [i, value] of row.entries()) expect(value).toBeCloseTo(10 * (2 + (i + 0.5) / 4 - 0.5), 3);
});

test('pixels beyond the image count as zero, or as the nearest pixel of its edge', () => {
  const one = channel(4, 4, () => 1);
  const window = { left: -4, top: -4, side: 12 };
  const empty = resample(one, window, 12, 'zero');
  expect(mean(empty)).toBeCloseTo(16 / 144, 5);
  expect(empty[5 * 12 + 5]).toBeCloseTo(1, 5);
  expect(mean(resample(one, window, 12, 'edge'))).toBeCloseTo(1, 5);
});

test('all pixels of a window outside the image count as zero, or as the nearest pixel of its edge', () => {
  const one = channel(4, 4, () => 1);
  expect(mean(resample(one, { left: 20, top: 20, side: 4 }, 4, 'zero'))).toBe(0);
  expect(mean(resample(one, { left: 20, top: -20, side: 4 }, 4, 'edge'))).toBeCloseTo(1, 5);
});
