import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ExpectedEnds, pauseMs, pollingHeaders } from './expected-ends.js';

const success = (jobId: string, ms: number) =>
  ({ type: 'finished', jobId, status: 'SUCCEEDED', inferenceMs: ms, stageTimes: { prepare: 100, bake: ms } }) as const;

describe('the expected end of a job', () => {
  let queue: string[];
  let reads: number;
  const newEnds = (runners: number) =>
    new ExpectedEnds(async () => {
      reads++;
      return queue;
    }, runners);
  beforeEach(() => {
    vi.useFakeTimers();
    queue = [];
    reads = 0;
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test('is unknown before the first job has finished', async () => {
    const ends = newEnds(1);
    expect(await ends.remainingMs('a')).toBeUndefined();
    ends.record({ type: 'finished', jobId: 'a', status: 'FAILED' });
    expect(await ends.remainingMs('b')).toBeUndefined();
  });

  test('is what the runner reports while the job runs', async () => {
    const ends = newEnds(1);
    ends.record({ type: 'expecting', jobId: 'a', remainingMs: 3_000 });
    vi.advanceTimersByTime(1_000);
    expect(await ends.remainingMs('a')).toBe(2_000);
    ends.record({ type: 'expecting', jobId: 'a', remainingMs: 500 });
    vi.advanceTimersByTime(1_000);
    expect(await ends.remainingMs('a')).toBe(-500);
  });

  test('of a waiting job follows the jobs ahead of it and those that run, on all runners', async () => {
    const ends = newEnds(2);
    for (const ms of [1_900, 60_000, 1_900]) ends.record(success('earlier', ms)); // 2 s is the median
    expect(await ends.remainingMs('new')).toBe(2_000);

    queue = ['running', 'a', 'b', 'c'];
    ends.record({ type: 'expecting', jobId: 'running', remainingMs: 1_500 });
    vi.advanceTimersByTime(1_000); // the queue is read again
    const remaining = await Promise.all(['a', 'b', 'c', 'new'].map((id) => ends.remainingMs(id)));
    expect(remaining).toEqual([2_000, 2_500, 4_000, 4_500]);
  });

  test('takes one query per second for all requests', async () => {
    const ends = newEnds(1);
    ends.record(success('earlier', 1_900));
    for (let request = 0; request < 20; request++) {
      await ends.remainingMs('a');
      vi.advanceTimersByTime(100);
    }
    expect(reads).toBe(2);
  });
});

describe('a client that follows the pauses', () => {
  test.each([100, 900, 1_000, 1_999, 2_300, 3_700, 4_999, 8_000, 23_000])(
    'asks at the end of a job of %i ms or, if it asked less than a second before, a second later',
    (durationMs) => {
      let elapsedMs = 0;
      let lastPauseMs = 0;
      while (elapsedMs < durationMs) {
        lastPauseMs = pauseMs(durationMs - elapsedMs);
        expect(lastPauseMs).toBeGreaterThanOrEqual(1_000);
        expect(lastPauseMs).toBeLessThanOrEqual(5_000);
        elapsedMs += lastPauseMs;
      }
      expect(elapsedMs).toBe(Math.max(1_000, durationMs));
    },
  );

  test('asks every 5 s while the end is far', () => {
    expect(pauseMs(600_000)).toBe(5_000);
  });
});

test('Retry-After is the whole seconds of the pause, 1 or 2, and alone when the end is unknown', () => {
  expect(pollingHeaders(1_800)).toEqual({ 'retry-after': '1', 'retry-after-ms': '1850' });
  expect(pollingHeaders(600_000)).toEqual({ 'retry-after': '2', 'retry-after-ms': '5000' });
  expect(pollingHeaders(-3_000)).toEqual({ 'retry-after': '1', 'retry-after-ms': '1000' });
  expect(pollingHeaders(undefined)).toEqual({ 'retry-after': '2' });
});
