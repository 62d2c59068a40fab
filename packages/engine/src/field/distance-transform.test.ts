import { expect, test } from 'vitest';
import { signedDistance } from './distance-transform.js';

const size = 64;

function disc(radius: number): Float32Array {
  return Float32Array.from({ length: size * size }, (_, i) => {
    const distance = radius - Math.hypot((i % size) + 0.5 - size / 2, Math.floor(i / size) + 0.5 - size / 2);
    return Math.min(Math.max(distance + 0.5, 0), 1);
  });
}

test('the distance to a disc is accurate to 0.75 pixels everywhere, inside and outside', () => {
  const radius = 20;
  signedDistance(disc(radius), size).forEach((distance, i) => {
    const exact = radius - Math.hypot((i % size) + 0.5 - size / 2, Math.floor(i / size) + 0.5 - size / 2);
    expect(Math.abs(distance - exact)).toBeLessThan(0.75);
  });
});

test('moving the edge by a quarter of a pixel moves the zero crossing by about the same distance', () => {
  const at = size / 2 + 20 + size * (size / 2);
  const before = signedDistance(disc(20), size)[at]!;
  expect(signedDistance(disc(20.25), size)[at]! - before).toBeCloseTo(0.25, 1);
});

test('a matte that is empty or full gives finite distances', () => {
  for (const coverage of [0, 1]) {
    const distances = signedDistance(new Float32Array(size * size).fill(coverage), size);
    expect(distances.every(Number.isFinite)).toBe(true);
    expect(distances.every((distance) => (coverage ? distance > 0 : distance < 0))).toBe(true);
  }
});
