import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { JobPace, RemainingTimes } from './job-pace.js';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

let times: RemainingTimes;
let seen: { at: number; progress: number }[];
let estimates: (readonly number[])[];
beforeEach(() => {
  times = new RemainingTimes();
});

function start(): JobPace {
  const startedAt = performance.now();
  seen = [];
  estimates = [];
  return new JobPace(times, {
    onProgress: (progress) => seen.push({ at: performance.now() - startedAt, progress }),
    onEstimate: (remainingMs) => estimates.push(remainingMs),
  });
}

/** A job of two steps that take `firstMs` and `secondMs`. Each is half the work by the engine's weights. */
function run(firstMs: number, secondMs: number): void {
  const pace = start();
  vi.advanceTimersByTime(firstMs);
  pace.pass(0.5);
  vi.advanceTimersByTime(secondMs);
  pace.pass(1);
  pace.stop();
  pace.record();
}

test('the first job reports progress by the weights of the engine, and no estimate', () => {
  run(600, 5_400);
  expect(seen).toEqual([
    { at: 600, progress: 60 },
    { at: 6_000, progress: 90 },
  ]);
  expect(estimates).toEqual([]);
});

test('later jobs report progress evenly until the end that earlier jobs had', () => {
  run(600, 5_400);
  run(600, 5_400);
  expect(seen.map(({ progress }) => progress)).toEqual([40, 50, 60, 70, 80, 90]);
  for (const [step, { at }] of seen.entries()) expect(at).toBeCloseTo((step + 1) * 1_000, -1);
  expect(estimates).toEqual([[6_000], [5_400], [0]]);
});

test('a job that is faster than the earlier ones catches up after the next step', () => {
  run(600, 5_400);
  run(600, 400);
  const progress = seen.map(({ progress }) => progress);
  expect(progress).toEqual([...progress].sort((a, b) => a - b));
  expect(seen.at(-1)).toEqual({ at: 1_000, progress: 90 });
});

test('a job that is slower than the earlier ones stays at 90 % and then ends', () => {
  run(600, 400);
  run(600, 4_000);
  expect(seen.at(-1)?.progress).toBe(90);
  expect(seen).toHaveLength(6);
  expect(vi.getTimerCount()).toBe(0);
});

test('a job whose first step is slower than in the earlier jobs stays below the progress of its second', () => {
  run(2_000, 2_000);
  run(8_000, 2_000);
  const inFirstStep = seen.filter(({ at }) => at < 8_000).map(({ progress }) => progress);
  expect(inFirstStep).toEqual([40, 50, 60]);
  expect(seen.at(-1)).toEqual({ at: 10_000, progress: 90 });
});

test('the times are those of the last 15 jobs', () => {
  for (let job = 1; job <= 17; job++) run(0, job * 1_000);
  expect(times.after(0)).toEqual(Array.from({ length: 15 }, (_, index) => (index + 3) * 1_000));
  expect(times.after(0.25)).toEqual([]);
});
