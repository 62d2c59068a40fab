import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { EtaEstimator, pauseMs, pollingHeaders, queueHeadSize } from './eta-estimator.js';

const success = (jobId: string, ms: number) =>
  ({ type: 'finished', jobId, status: 'SUCCEEDED', inferenceMs: ms, stageTimes: { prepare: 100, bake: ms } }) as const;

describe('the expected end of a job', () => {
  let queue: string[];
  let reads: number;
  const newEnds = (runners: number) =>
    new EtaEstimator(
      async () => {
        reads++;
        return queue;
      },
      () => runners,
    );
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
    expect(await ends.remainingMs('a')).toEqual([]);
    ends.record({ type: 'finished', jobId: 'a', status: 'FAILED' });
    expect(await ends.remainingMs('b')).toEqual([]);
  });

  test('is what the runner reports while the job runs', async () => {
    const ends = newEnds(1);
    ends.record({ type: 'expecting', jobId: 'a', remainingMs: [3_000, 4_000] });
    vi.advanceTimersByTime(1_000);
    expect(await ends.remainingMs('a')).toEqual([2_000, 3_000]);
    ends.record({ type: 'expecting', jobId: 'a', remainingMs: [500] });
    vi.advanceTimersByTime(1_000);
    expect(await ends.remainingMs('a')).toEqual([-500]);
  });

  test('follows, while the job waits, the jobs ahead of it and the running jobs of all runners', async () => {
    const ends = newEnds(2);
    for (const ms of [1_900, 60_000, 1_900]) ends.record(success('earlier', ms)); // 2 s is the median
    expect(await ends.remainingMs('new')).toEqual([2_000, 60_100, 2_000]);

    queue = ['running', 'a', 'b', 'c'];
    ends.record({ type: 'expecting', jobId: 'running', remainingMs: [1_500] });
    vi.advanceTimersByTime(1_000); // the queue is read again
    const remaining = await Promise.all(['a', 'b', 'c', 'new'].map((id) => ends.remainingMs(id)));
    expect(remaining.map(([first]) => first)).toEqual([2_000, 2_500, 4_000, 4_500]);
  });

  test('does not count a job that its runner has left', async () => {
    const ends = newEnds(1);
    ends.record(success('earlier', 1_900));
    ends.record({ type: 'expecting', jobId: 'canceled', remainingMs: [9_000] });
    expect(await ends.remainingMs('new')).toEqual([11_000]);
    ends.record({ type: 'left', jobId: 'canceled' });
    expect(await ends.remainingMs('new')).toEqual([2_000]);
  });

  test('is not shown, but the position of a waiting job and the stage of a running one are', async () => {
    const ends = newEnds(1);
    const waiting = (id: string) => ends.estimate({ id, status: 'QUEUED' });
    queue = ['a', 'b'];
    expect(await waiting('b')).toEqual({ position: 2 });

    ends.record(success('earlier', 1_900));
    ends.record({ type: 'stage', jobId: 'a', stage: 'bake' });
    ends.record({ type: 'expecting', jobId: 'a', remainingMs: [1_200] });
    expect(await ends.estimate({ id: 'a', status: 'IN_PROGRESS' })).toEqual({ stage: 'bake' });
    expect(await waiting('b')).toEqual({ position: 1 });
    expect(await waiting('new')).toEqual({ position: 2 });
    expect(await ends.estimate({ id: 'elsewhere', status: 'IN_PROGRESS' })).toEqual({});
  });

  test('has no position for a job far back in the queue', async () => {
    const ends = newEnds(1);
    ends.record(success('earlier', 1_900));
    queue = Array.from({ length: queueHeadSize }, (_, index) => String(index));
    expect(await ends.estimate({ id: 'behind', status: 'QUEUED' })).toEqual({});
  });

  test('takes at most one query per second for all requests', async () => {
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
  const marginMs = 50;
  /** When it notices the end of a job that takes `durationMs`, if `durations` are those of the last jobs. */
  function noticedAt(durationMs: number, durations: readonly number[]): number {
    let elapsedMs = 0;
    while (elapsedMs < durationMs) {
      const pause = pauseMs(durations.map((ms) => ms - elapsedMs));
      expect(pause).toBeGreaterThanOrEqual(1_000);
      expect(pause).toBeLessThanOrEqual(5_000);
      elapsedMs += pause;
    }
    return elapsedMs;
  }

  test.each([1_000, 1_950, 2_300, 3_700, 4_999, 8_000, 23_000])(
    'asks just after the end of a job that takes %i ms, as the last ones did',
    (durationMs) => {
      expect(noticedAt(durationMs, [durationMs])).toBe(durationMs + marginMs);
    },
  );

  test('asks after a second when the job is short or late', () => {
    expect(pauseMs([100])).toBe(1_000);
    expect(pauseMs([-3_000, -10])).toBe(1_000);
  });

  test('asks first after the end of a fast job when the next job may be fast or slow', () => {
    const fastOrSlow = [1_200, 2_900, 2_900, 2_900];
    expect(noticedAt(1_200, fastOrSlow)).toBe(1_250);
    expect(noticedAt(2_900, fastOrSlow)).toBe(2_950);
  });

  test('asks every 5 s while the end is far', () => {
    expect(pauseMs([600_000, 900_000])).toBe(5_000);
  });
});

test('Retry-After has the whole seconds of the pause, 1 or 2, and is sent alone when the end is unknown', () => {
  expect(pollingHeaders([1_800])).toEqual({ 'retry-after': '1', 'retry-after-ms': '1850' });
  expect(pollingHeaders([600_000])).toEqual({ 'retry-after': '2', 'retry-after-ms': '5000' });
  expect(pollingHeaders([])).toEqual({ 'retry-after': '2' });
});
