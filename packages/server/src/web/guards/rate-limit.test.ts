import { expect, test } from 'vitest';
import { Overdrafts, TokenBucket } from './rate-limit.js';

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

test('callers that send little get through while another sends as much as it can', () => {
  const [most, ten, one, rare] = passed([1_000, 10, 1, 0.2]);
  expect({ ten, one, rare }).toEqual({ ten: 100, one: 10, rare: 2 });
  // The whole rest goes to the one that wants it.
  expect(most).toBeGreaterThanOrEqual(500 - 112 - 5);
  expect(most).toBeLessThanOrEqual(500 - 112 + 5);
});

test('callers that send more than the bucket gains get about equal parts of it', () => {
  for (const count of passed([1_000, 300, 100, 40])) {
    expect(count).toBeGreaterThan(100);
    expect(count).toBeLessThan(150);
  }
});

test('a caller on its own may take every token', () => {
  expect(passed([1_000])).toEqual([500]);
});

test('a second after the others fell silent, a caller has every token that the bucket has gained', () => {
  const limit = { perSecond: 50, burst: 100 };
  const bucket = new TokenBucket(limit, 0);
  const overdrafts = new Overdrafts(limit);
  const taken = (caller: string, tries: number, now: number) =>
    Array.from({ length: tries }, () => {
      const isTaken = bucket.take(now, overdrafts.of(caller, now)) === 0;
      if (isTaken) overdrafts.count(caller, now);
      return isTaken;
    }).filter(Boolean).length;
  expect(taken('busy', 200, 0)).toBe(100);
  // These overdraw the bucket.
  for (let index = 0; index < 12; index++) expect(taken(`quiet ${index}`, 1, 0)).toBe(1);
  expect(taken('alone', 200, 1_000)).toBe(50);
  expect(taken('alone', 200, 2_000)).toBe(50);
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
