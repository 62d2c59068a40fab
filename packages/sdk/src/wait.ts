import type { Task } from '@gen3d/schema';
import { isTerminal, type JobEstimate, limits } from '@gen3d/schema/rules';
import { type RequestOptions, withDeadline } from './deadline.js';
import { isTemporary, JobFailedError, WaitTimeoutError } from './errors.js';
import { sleep } from './sleep.js';

// Waits for a job by polling, which every server of the contract supports. Where the server also streams the job's
// events, the last one ends the pause between two polls; the stream never replaces the polls, so a proxy that holds it
// back or cuts it only makes the wait longer. A restart of the server, or a minute without a network, does not end the
// wait.

export interface WaitOptions extends RequestOptions {
  /** Stops waiting. The job continues; `jobs.cancel` cancels it. */
  readonly signal?: AbortSignal | undefined;
  /** Limits the wait, after which the call rejects with a `WaitTimeoutError`. Default: no limit. */
  readonly timeoutMs?: number | undefined;
  /**
   * Called with the first state, and with every later change of status, progress, position in the queue or stage.
   * `estimate` says how far the job is: see `JobEstimate`.
   */
  readonly onProgress?: ((task: Task, estimate: JobEstimate) => void) | undefined;
}

/** Retrieves the job once, with the response's `Retry-After` and estimate if it has them. */
export type ReadTask = (
  signal: AbortSignal,
) => Promise<{ task: Task; estimate?: JobEstimate; retryAfterMs?: number | undefined }>;

/** Resolves when the server's stream says that the job has ended. Without a stream, never settles. */
export type FollowJob = (signal: AbortSignal) => Promise<void>;

// Long enough for a restart of the server or a short loss of the network.
const errorToleranceMs = 60_000;

/**
 * Polls a job until it ends.
 *
 * @throws {JobFailedError} if it ends without a model
 * @throws {WaitTimeoutError} if `timeoutMs` elapses
 */
export async function waitForJob(
  id: string,
  read: ReadTask,
  options: WaitOptions = {},
  follow?: FollowJob,
): Promise<Task> {
  const startedAt = Date.now();
  let lastSuccessAt = startedAt;
  let lastTask: Task | undefined;
  let lastState = '';
  const following = new AbortController();
  let end: Promise<void> | undefined;
  const timeoutError = () => new WaitTimeoutError(id, lastTask);
  const work = async (signal: AbortSignal) => {
    for (;;) {
      const pauseMs = (retryAfterMs?: number) => pollDelayMs(Date.now() - startedAt, retryAfterMs, Math.random());
      try {
        const { task, estimate = {}, retryAfterMs } = await read(signal);
        lastSuccessAt = Date.now();
        const state = [task.status, task.progress, estimate.position, estimate.stage].join();
        if (state !== lastState) options.onProgress?.(task, estimate);
        lastState = state;
        if (isTerminal(task.status)) return succeeded(task);
        if (!lastTask) end = follow?.(following.signal);
        lastTask = task;
        // Only once, because the next read may still come from a server that has not heard of the end.
        if (await sleep(pauseMs(retryAfterMs), signal, end)) end = undefined;
      } catch (error) {
        if (!isTemporary(error) || Date.now() - lastSuccessAt + (error.retryAfterMs ?? 0) > errorToleranceMs)
          throw error;
        await sleep(pauseMs(error.retryAfterMs), signal);
      }
    }
  };
  return withDeadline(options, timeoutError, work).finally(() => following.abort());
}

/**
 * Returns the pause before the next request, in milliseconds.
 *
 * The contract suggests 2 to 5 s. Jobs can take only seconds, so the first pause is shorter, and pauses grow with the
 * elapsed time. `random` (0 to 1) spreads clients that started at the same time.
 */
export function pollDelayMs(elapsedMs: number, retryAfterMs: number | undefined, random: number): number {
  const { min, max } = limits.pollMs;
  const base = elapsedMs < min / 2 ? min / 2 : Math.min(max / 1.2, Math.max(min, elapsedMs / 15));
  return Math.max(base, retryAfterMs ?? 0) * (1 + 0.2 * random);
}

function succeeded(task: Task): Task {
  if (task.status === 'SUCCEEDED') return task;
  throw new JobFailedError(task);
}
