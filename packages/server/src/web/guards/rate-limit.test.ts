import { expect, test } from 'vitest';
import { Overdrafts, TokenBucket } from './rate-limit.js';

/** How many requests of each caller pass in the last 10 s of a minute. `rates` are the callers' requests per second. */
function passed(rates: readonly number[]): number[] {
  const limit = { perSecond: 50, burst: 100 };
  const bucket = new TokenBucket(limit, 0);
  const overdrafts = new Overdrafts(limit);
  const counts = rates.map(() => 0);
  for (let now = 0; now < 60_000; now++) {
    for (const [caller, rate] of rates.entries()) {
      // Each caller's requests are evenly spaced.
      if (Math.floor((now * rate) / 1_000) === Math.floor(((now + 1) * rate) / 1_000)) continue;
      if (bucket.take(now, overdrafts.of(String(caller), now)) > 0) continue;
      overdrafts.count(String(caller), now);
      if (now >= 50_000) counts[caller]!++;
    }
  }
  return counts;
}

test('callers that send more than the bucket gains get about equal parts of it', () => {
  for (const count of passed([1_000, 300, 100, 40])) {
    expect(count).toBeGreaterThan(100);
    expect(count).toBeLessThan(150);
  }
});

test('a caller that sends little may overdraw the bucket while another takes every token, by a quarter at most', () => {
  const overdrafts = new Overdrafts({ perSecond: 50, burst: 100 });
  for (let index = 0; index < 100; index++) overdrafts.count('busy', 0);
  expect(overdrafts.of('busy', 1)).toBe(0);
  expect(overdrafts.of('quiet', 1)).toBe(25);
  // With two callers, an equal part is 25.
  for (const [more, allowed] of [
    [18, 25],
    [5, 8],
    [2, 0],
  ] as const) {
    for (let index = 0; index < more; index++) overdrafts.count('quiet', 1);
    expect(overdrafts.of('quiet', 1)).toBeCloseTo(allowed);
  }
});
