import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { JobPace } from './job-pace.js';

let pace: JobPace;
let seen: { at: number; progress: number }[];
let estimates: (readonly number[])[];
beforeEach(() => {
  vi.useFakeTimers();
  pace = new JobPace();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A job of two steps that take `firstMs` and `secondMs`. Each is half the work by the engine's weights. */
function run(firstMs: number, secondMs: number): void {
  const startedAt = performance.now();
  seen = [];
  estimates = [];
  const job = pace.start({
    onProgress: (progress) => seen.push({ at: performance.now() - startedAt, progress }),
    onEstimate: (remainingMs) => estimates.push(remainingMs),
  });
  vi.advanceTimersByTime(firstMs);
  job.pass(0.5);
  vi.advanceTimersByTime(secondMs);
  job.pass(1);
  job.record();
}

test('progress follows the weights of the engine, and later jobs also estimate their end', () => {
  run(600, 5_400);
  expect(seen).toEqual([
    { at: 600, progress: 60 },
    { at: 6_000, progress: 90 },
  ]);
  expect(estimates).toEqual([]);
  run(900, 5_400);
  expect(seen.map(({ progress }) => progress)).toEqual([60, 90]);
  expect(estimates).toEqual([[6_000], [5_400], [0]]);
});

test('the estimates are those of the last 15 jobs', () => {
  for (let job = 1; job <= 18; job++) run(0, job * 1_000);
  expect(estimates[0]).toEqual(Array.from({ length: 15 }, (_, index) => (index + 3) * 1_000));
});
