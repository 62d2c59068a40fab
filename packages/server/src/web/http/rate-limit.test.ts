import { expect, test } from 'vitest';
import { TokenBucket } from './rate-limit.js';

test('a full bucket lets a burst through, and then as many a second as it is refilled with', () => {
  const bucket = new TokenBucket(50, 100, 0);
  const passed = (now: number, tries: number) =>
    Array.from({ length: tries }, () => bucket.take(now)).filter((wait) => wait === 0).length;
  expect(passed(0, 200)).toBe(100);
  expect(passed(1_000, 200)).toBe(50);
  expect(passed(61_000, 200)).toBe(100);
});

test('an empty bucket says how many seconds until the next token', () => {
  const bucket = new TokenBucket(2, 1, 0);
  expect(bucket.take(0)).toBe(0);
  expect(bucket.take(0)).toBeCloseTo(0.5);
  expect(bucket.take(400)).toBeCloseTo(0.1);
  expect(bucket.take(500)).toBe(0);
});
