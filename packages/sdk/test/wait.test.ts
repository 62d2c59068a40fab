import type { Task } from '@gen3d/schema';
import { HttpResponse, http } from 'msw';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { retryAfterMs } from '../src/error-response.js';
import {
  ConnectionError,
  JobFailedError,
  NotFoundError,
  RateLimitError,
  ServerError,
  WaitTimeoutError,
} from '../src/index.js';
import { pollDelayMs, type ReadTask, waitForJob } from '../src/wait.js';
import { client, jobId, jpeg, misbehavingServer, origin, succeeded, task } from './server.js';

const server = misbehavingServer();

/** Returns or throws one outcome per call, and repeats the last one. */
function reads(...outcomes: Array<Task | Error>): ReadTask & { count(): number } {
  let count = 0;
  const read = async () => {
    const outcome = outcomes[Math.min(count, outcomes.length - 1)]!;
    count += 1;
    if (outcome instanceof Error) throw outcome;
    return { task: outcome };
  };
  return Object.assign(read, { count: () => count });
}

describe('wait, with fake timers,', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test('reports each change once', async () => {
    const queued = task({ status: 'QUEUED', progress: 25 });
    const seen: string[] = [];
    const waiting = waitForJob(jobId, reads(queued, queued, task(), task(), succeeded), {
      onProgress: ({ status, progress }) => seen.push(`${status} ${progress}`),
    });
    await vi.runAllTimersAsync();
    expect(await waiting).toEqual(succeeded);
    expect(seen).toEqual(['QUEUED 25', 'IN_PROGRESS 30', 'SUCCEEDED 100']);
  });

  test('reports each change of the position in the queue and of the stage', async () => {
    const queued = task({ status: 'QUEUED', progress: 25 });
    const states = [
      { task: queued, estimate: { position: 2 } },
      { task: queued, estimate: { position: 2 } },
      { task: queued, estimate: { position: 1 } },
      { task: task(), estimate: { stage: 'matte' } },
      { task: task(), estimate: { stage: 'encode' } },
      { task: succeeded },
    ];
    const seen: unknown[] = [];
    const waiting = waitForJob(jobId, async () => states.shift()!, {
      onProgress: (_, estimate) => seen.push(estimate),
    });
    await vi.runAllTimersAsync();
    expect(await waiting).toEqual(succeeded);
    expect(seen).toEqual([{ position: 2 }, { position: 1 }, { stage: 'matte' }, { stage: 'encode' }, {}]);
  });

  test('rejects with the task of a failed job', async () => {
    const failed = task({ status: 'FAILED', error: { code: 'no_foreground', message: 'No object in the photo' } });
    const error = await waitForJob(jobId, reads(failed)).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(JobFailedError);
    expect(error).toMatchObject({
      code: 'no_foreground',
      task: failed,
      message: `Job ${jobId} failed: No object in the photo`,
    });
  });

  test('rejects for a job that an operator canceled', async () => {
    await expect(waitForJob(jobId, reads(task({ status: 'CANCELED' })))).rejects.toThrow('was canceled');
  });

  test('rejects with the last known state after timeoutMs', async () => {
    const read = reads(task());
    const waiting = waitForJob(jobId, read, { timeoutMs: 10_000 }).catch((thrown: unknown) => thrown);
    await vi.advanceTimersByTimeAsync(10_000);
    const error = await waiting;
    expect(error).toBeInstanceOf(WaitTimeoutError);
    expect(error).toMatchObject({ jobId, task: task() });
    expect(read.count()).toBeLessThanOrEqual(16);
  });

  test('tolerates a server that is unavailable for half a minute', async () => {
    const unavailable = new ConnectionError('connection_failed', 'Cannot reach the server');
    const waiting = waitForJob(jobId, reads(task(), ...Array(12).fill(unavailable), succeeded));
    await vi.runAllTimersAsync();
    expect(await waiting).toEqual(succeeded);
  });

  test('gives up on a server that is unavailable for more than a minute', async () => {
    const unavailable = new ServerError('internal_error', 'Temporarily unavailable');
    const waiting = waitForJob(jobId, reads(task(), unavailable)).catch((thrown: unknown) => thrown);
    await vi.runAllTimersAsync();
    expect(await waiting).toBe(unavailable);
  });

  test('waits as long as Retry-After says', async () => {
    const busy = new RateLimitError('rate_limited', 'Too many requests', { status: 429, retryAfterMs: 30_000 });
    const read = reads(task(), busy, succeeded);
    const waiting = waitForJob(jobId, read);
    await vi.advanceTimersByTimeAsync(29_000);
    expect(read.count()).toBe(2);
    await vi.runAllTimersAsync();
    expect(await waiting).toEqual(succeeded);
  });

  test('gives up on a Retry-After of an hour', async () => {
    const unavailable = new ServerError('internal_error', 'Maintenance', { status: 503, retryAfterMs: 3_600_000 });
    await expect(waitForJob(jobId, reads(unavailable))).rejects.toBe(unavailable);
  });

  test('rejects immediately for an unknown job', async () => {
    const read = reads(new NotFoundError('not_found', 'No such job'));
    await expect(waitForJob(jobId, read)).rejects.toBeInstanceOf(NotFoundError);
    expect(read.count()).toBe(1);
  });

  test("rejects immediately with the signal's reason when aborted during a pause", async () => {
    const abort = new AbortController();
    const waiting = waitForJob(jobId, reads(task()), { signal: abort.signal }).catch((thrown: unknown) => thrown);
    await vi.advanceTimersByTimeAsync(100);
    const reason = new Error('the user left');
    abort.abort(reason);
    expect(await waiting).toBe(reason);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('the pause between two requests', () => {
  test('is an eighth of the elapsed time, at least half a second and at most 5 s', () => {
    expect(pollDelayMs(0, undefined, 0)).toBe(500);
    expect(pollDelayMs(4000, undefined, 0)).toBe(500);
    expect(pollDelayMs(16_000, undefined, 0)).toBe(2000);
    expect(pollDelayMs(3_600_000, undefined, 1)).toBeCloseTo(5000);
  });

  test('varies by up to 20 %', () => {
    expect(pollDelayMs(16_000, undefined, 1)).toBeCloseTo(2400);
  });
});

test.each([
  ['7', 7000],
  ['0', 0],
  ['Thu, 01 Jan 1970 00:00:10 GMT', 9000],
  ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
  ['soon', undefined],
])('Retry-After: %s, one second after the start of 1970, is %s ms', (value, ms) => {
  expect(retryAfterMs(new Headers({ 'retry-after': value }), 1000)).toBe(ms);
});

test('generate returns the finished task despite a 502', async () => {
  const job = `${origin}/v1/jobs/${jobId}`;
  server.use(
    http.post(`${origin}/v1/jobs`, () => HttpResponse.json({ job_id: jobId }, { status: 202 })),
    http.get(job, () => new HttpResponse(null, { status: 502 }), { once: true }),
    http.get(job, () => HttpResponse.json(succeeded)),
  );
  expect(await client().generate(jpeg)).toEqual(succeeded);
});
