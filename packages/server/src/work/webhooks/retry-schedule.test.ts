import { expect, test } from 'vitest';
import { retryAt } from './retry-schedule.js';

const delays = [5, 300, 1800, 7200, 18_000];

test('a delivery that failed is due after each pause in turn, and never again after the last', () => {
  const middle = () => 0.5;
  expect([1, 2, 3, 4, 5, 6].map((attempts) => retryAt(delays, attempts, 1_000, middle))).toEqual([
    6_000,
    301_000,
    1_801_000,
    7_201_000,
    18_001_000,
    undefined,
  ]);
});

test('each pause varies by 20 % and no more', () => {
  expect(retryAt(delays, 1, 0, () => 0)).toBe(4_000);
  expect(retryAt(delays, 1, 0, () => 1)).toBe(6_000);
});
