import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { JobStage } from '../../data/jobs/stage-times.js';
import { type EstimateOf, jobEstimates, queueHeadSize } from './job-estimates.js';

let queue: string[];
let reads: number;
let estimateOf: EstimateOf;
/** The stage of each inference on this machine, by job. */
let stages: Map<string, JobStage>;
beforeEach(() => {
  vi.useFakeTimers();
  queue = [];
  reads = 0;
  stages = new Map();
  estimateOf = jobEstimates(
    (jobId) => stages.get(jobId),
    async () => {
      reads++;
      return queue;
    },
  );
});
afterEach(() => {
  vi.useRealTimers();
});

const waiting = (id: string) => estimateOf({ id, status: 'QUEUED' });
const running = (id: string) => estimateOf({ id, status: 'IN_PROGRESS' });

test('a waiting job has a position behind those that wait, and a running one has a stage', async () => {
  queue = ['a', 'b'];
  expect(await waiting('b')).toEqual({ position: 2 });

  stages.set('a', 'bake');
  expect(await running('a')).toEqual({ stage: 'bake' });
  expect(await waiting('b')).toEqual({ position: 1 });
  expect(await waiting('new')).toEqual({ position: 2 });
  expect(await running('elsewhere')).toEqual({});
});

test('a job far back in the queue has no position', async () => {
  queue = Array.from({ length: queueHeadSize }, (_, index) => String(index));
  expect(await waiting('behind')).toEqual({});
});

test('the queue is read at most once per second for all requests', async () => {
  for (let request = 0; request < 20; request++) {
    await waiting('a');
    vi.advanceTimersByTime(100);
  }
  expect(reads).toBe(2);
});
