import { expect, test } from 'vitest';
import { normalNoise } from './normal-noise.js';

test('a seed always gives the same noise, and another seed gives other noise', () => {
  // From another implementation of the documented generator, in Python.
  const expected = ['1.32021', '0.08698', '0.81990', '-0.62692', '0.74491'];
  expect([...normalNoise(0, 5)].map((value) => value.toFixed(5))).toEqual(expected);
  expect(normalNoise(7, 1001)).toEqual(normalNoise(7, 1001));
  expect(normalNoise(7, 1000)).not.toEqual(normalNoise(8, 1000));
});

test('the first numbers do not depend on how many are asked for', () => {
  expect(normalNoise(3, 5)).toEqual(normalNoise(3, 6).subarray(0, 5));
});

test('a million numbers have the moments and the tails of a normal distribution', () => {
  const noise = normalNoise(1, 1_000_000);
  const moment = (power: number) => noise.reduce((sum, value) => sum + value ** power, 0) / noise.length;
  const beyond = (limit: number) => noise.reduce((count, value) => count + (value > limit ? 1 : 0), 0) / noise.length;
  // Tolerances are four standard errors.
  expect(Math.abs(moment(1))).toBeLessThan(0.004);
  expect(Math.abs(moment(2) - 1)).toBeLessThan(0.006);
  expect(Math.abs(moment(3))).toBeLessThan(0.016);
  expect(Math.abs(moment(4) - 3)).toBeLessThan(0.04);
  expect(Math.abs(beyond(2) - 0.02275)).toBeLessThan(0.0006);
  // Neighbors, which come from the same pair, are independent.
  const product = noise.reduce((sum, value, i) => sum + (i % 2 ? 0 : value * noise[i + 1]!), 0) / (noise.length / 2);
  expect(Math.abs(product)).toBeLessThan(0.006);
});
