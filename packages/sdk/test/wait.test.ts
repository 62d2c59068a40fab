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

/** Reads that come out as told, one after the other; the last one for ever. */
function reads(...outcomes: Array<Task | Error>): ReadTask & { count(): number } {
  let count = 0;
  const read = async () => {
    const outcome = outcomes[Math.min(count, outcomes.length - 1)]!;
    count += 1;
    if (outcome instanceof Error) throw outcome;
    return { task: outcome, retryAfterMs: undefined };
  };
  return Object.assign(read, { count: () => count });
}

describe('wait, on a clock that can be turned', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test('each change is reported once', async () => {
    const queued = task({ status: 'QUEUED', progress: 25 });
    const seen: string[] = [];
    const waiting = waitForJob(jobId, reads(queued, queued, task(), task(), succeeded), {
      onProgress: ({ status, progress }) => seen.push(`${status} ${progress}`),
    });
    await vi.runAllTimersAsync();
    expect(await waiting).toEqual(succeeded);
    expect(seen).toEqual(['QUEUED 25', 'IN_PROGRESS 30', 'SUCCEEDED 100']);
  });

  test('a job that fails rejects with its task', async () => {
    const failed = task({ status: 'FAILED', error: { code: 'no_foreground', message: 'No object in the photo' } });
    const error = await waitForJob(jobId, reads(failed)).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(JobFailedError);
    expect(error).toMatchObject({
      code: 'no_foreground',
      task: failed,
      message: `Job ${jobId} failed: No object in the photo`,
    });
  });

  test('a job that an operator canceled rejects too', async () => {
    await expect(waitForJob(jobId, reads(task({ status: 'CANCELED' })))).rejects.toThrow('was canceled');
  });

  test('timeoutMs ends the waiting with the last known state', async () => {
    const read = reads(task());
    const waiting = waitForJob(jobId, read, { timeoutMs: 10_000 }).catch((thrown: unknown) => thrown);
    await vi.advanceTimersByTimeAsync(10_000);
    const error = await waiting;
    expect(error).toBeInstanceOf(WaitTimeoutError);
    expect(error).toMatchObject({ jobId, task: task() });
    expect(read.count()).toBeLessThanOrEqual(6);
  });

  test('a server that is away for half a minute is waited for', async () => {
    const away = new ConnectionError('connection_failed', 'Cannot reach it');
    const waiting = waitForJob(jobId, reads(task(), ...Array(12).fill(away), succeeded));
    await vi.runAllTimersAsync();
    expect(await waiting).toEqual(succeeded);
  });

  test('a server that stays away for more than a minute is given up', async () => {
    const away = new ServerError('internal_error', 'Out of order');
    const waiting = waitForJob(jobId, reads(task(), away)).catch((thrown: unknown) => thrown);
    await vi.runAllTimersAsync();
    expect(await waiting).toBe(away);
  });

  test('a server that asks to stay away is left alone for as long', async () => {
    const busy = new RateLimitError('rate_limited', 'Too many requests', { status: 429, retryAfterMs: 30_000 });
    const read = reads(task(), busy, succeeded);
    const waiting = waitForJob(jobId, read);
    await vi.advanceTimersByTimeAsync(29_000);
    expect(read.count()).toBe(2);
    await vi.runAllTimersAsync();
    expect(await waiting).toEqual(succeeded);
  });

  test('a server that asks to stay away for an hour is given up', async () => {
    const closed = new ServerError('internal_error', 'Maintenance', { status: 503, retryAfterMs: 3_600_000 });
    await expect(waitForJob(jobId, reads(closed))).rejects.toBe(closed);
  });

  test('a job that is not there is not waited for', async () => {
    const read = reads(new NotFoundError('not_found', 'No such job'));
    await expect(waitForJob(jobId, read)).rejects.toBeInstanceOf(NotFoundError);
    expect(read.count()).toBe(1);
  });

  test('an aborted signal ends the pause at once with its own reason', async () => {
    const abort = new AbortController();
    const waiting = waitForJob(jobId, reads(task()), { signal: abort.signal }).catch((thrown: unknown) => thrown);
    await vi.advanceTimersByTimeAsync(100);
    const reason = new Error('the user left');
    abort.abort(reason);
    expect(await waiting).toBe(reason);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('the pause between two reads', () => {
  test('is a second at first, then 2 s, and 5 s at most', () => {
    expect(pollDelayMs(0, undefined, 0)).toBe(1000);
    expect(pollDelayMs(1500, undefined, 0)).toBe(2000);
    expect(pollDelayMs(3_600_000, undefined, 1)).toBeCloseTo(5000);
  });

  test('is never shorter than Retry-After', () => {
    expect(pollDelayMs(0, 2000, 0)).toBe(2000);
    expect(pollDelayMs(0, 30_000, 0)).toBe(30_000);
  });

  test('differs from client to client by up to 20 %', () => {
    expect(pollDelayMs(5000, undefined, 1)).toBeCloseTo(2400);
  });
});

test.each([
  ['7', 7000],
  ['0', 0],
  ['Thu, 01 Jan 1970 00:00:10 GMT', 9000],
  ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
  ['soon', undefined],
])('Retry-After: %s, read one second after 1970 began, is %s ms', (value, ms) => {
  expect(retryAfterMs(new Headers({ 'retry-after': value }), 1000)).toBe(ms);
});

test('generate creates, waits through one bad gateway, and gives the finished task', async () => {
  const job = `${origin}/v1/jobs/${jobId}`;
  server.use(
    http.post(`${origin}/v1/jobs`, () => HttpResponse.json({ job_id: jobId }, { status: 202 })),
    http.get(job, () => new HttpResponse(null, { status: 502 }), { once: true }),
    http.get(job, () => HttpResponse.json(succeeded)),
  );
  expect(await client().generate(jpeg)).toEqual(succeeded);
});
