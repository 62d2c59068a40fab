import { expect, test } from 'vitest';
import { TokenBucket } from './rate-limit.js';

test('a full bucket allows a burst, and then as many requests a second as it gains tokens', () => {
  const bucket = new TokenBucket({ perSecond: 50, burst: 100 }, 0);
  const allowed = (now: number, tries: number) =>
    Array.from({ length: tries }, () => bucket.take(now)).filter((wait) => wait === 0).length;
  expect(allowed(0, 200)).toBe(100);
  expect(allowed(1_000, 200)).toBe(50);
  expect(allowed(61_000, 200)).toBe(100);
});

test('an empty bucket returns the seconds until the next token', () => {
  const bucket = new TokenBucket({ perSecond: 2, burst: 1 }, 0);
  expect(bucket.take(0)).toBe(0);
  expect(bucket.take(0)).toBeCloseTo(0.5);
  expect(bucket.take(400)).toBeCloseTo(0.1);
  expect(bucket.take(500)).toBe(0);
});
