import { expect, test } from 'vitest';
import type { Matte } from '../base/image.js';
import { cleanMatte } from './clean-matte.js';

type Disc = readonly [x: number, y: number, radius: number, value?: number];

function discs(...all: readonly Disc[]): Matte {
  const [width, height] = [200, 160];
  const data = new Uint8Array(width * height);
  for (const [cx, cy, radius, value = 255] of all) {
    for (let y = 0; y < height; y++) {
      for (let x = 0; x < width; x++) if (Math.hypot(x - cx, y - cy) <= radius) data[y * width + x] = value;
    }
  }
  return { width, height, data };
}

const at = ({ width, data }: Matte, x: number, y: number) => data[y * width + x];

test('a tiny island far from the object is removed, and the object does not change', () => {
  const object = discs([100, 80, 40]);
  expect(cleanMatte(discs([100, 80, 40], [190, 10, 2]))).toEqual(object);
});

test('a small part close to the object stays', () => {
  expect(at(cleanMatte(discs([100, 80, 40], [144, 80, 2]))!, 144, 80)).toBe(255);
});

test('a second object stays, however far away', () => {
  expect(at(cleanMatte(discs([60, 80, 40], [180, 20, 14]))!, 180, 20)).toBe(255);
});

test('of two objects, the one in the middle is the main one: only parts near it stay', () => {
  const [middle, corner] = [
    [100, 80, 30],
    [168, 128, 31],
  ] as const;
  const cleaned = cleanMatte(discs(middle, corner, [100, 47, 1], [168, 93, 1]))!;
  expect(at(cleaned, 168, 128)).toBe(255);
  expect(at(cleaned, 100, 47)).toBe(255);
  expect(at(cleaned, 168, 93)).toBe(0);
});

test('haze without a solid part is removed, even if it is large', () => {
  expect(at(cleanMatte(discs([150, 80, 30, 90], [50, 80, 30]))!, 150, 80)).toBe(0);
});

test('the soft edge of an object is kept', () => {
  const cleaned = cleanMatte(discs([100, 80, 42, 20], [100, 80, 40]))!;
  expect(at(cleaned, 141, 80)).toBe(20);
});

test('only haze or only an island is not an object', () => {
  expect(cleanMatte(discs([100, 80, 60, 100]))).toBeUndefined();
  expect(cleanMatte(discs([100, 80, 1]))).toBeUndefined();
  expect(cleanMatte(discs())).toBeUndefined();
});
