import type { Task } from '@gen3d/schema';
import { isTerminal, type JobEstimate, limits } from '@gen3d/schema/rules';
import { type RequestOptions, withDeadline } from './deadline.js';
import { isTemporary, JobFailedError, WaitTimeoutError } from './errors.js';
import { sleep } from './sleep.js';

// Waits for a job by polling, which every server of the contract supports. A restart of the server, or a minute without a
// network, does not end the wait.

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

/** Retrieves the job once, with its estimate if the response has one. */
export type ReadTask = (signal: AbortSignal) => Promise<{ task: Task; estimate?: JobEstimate }>;

// Long enough for a restart of the server or a short loss of the network.
const errorToleranceMs = 60_000;

// Longer pauses would be felt, because most jobs take 1 to 6 s. Shorter ones would use up the 50 requests a second that
// all clients of a server share.
const minPauseMs = 500;
const shareOfElapsed = 1 / 8;

/**
 * Polls a job until it ends.
 *
 * @throws {JobFailedError} if it ends without a model
 * @throws {WaitTimeoutError} if `timeoutMs` elapses
 */
export async function waitForJob(id: string, read: ReadTask, options: WaitOptions = {}): Promise<Task> {
  const startedAt = Date.now();
  let lastSuccessAt = startedAt;
  let lastTask: Task | undefined;
  let lastState = '';
  const timeoutError = () => new WaitTimeoutError(id, lastTask);
  return withDeadline(options, timeoutError, async (signal) => {
    for (;;) {
      let retryAfterMs: number | undefined;
      try {
        const { task, estimate = {} } = await read(signal);
        lastSuccessAt = Date.now();
        lastTask = task;
        const state = [task.status, task.progress, estimate.position, estimate.stage].join();
        if (state !== lastState) options.onProgress?.(task, estimate);
        lastState = state;
        if (task.status === 'SUCCEEDED') return task;
        if (isTerminal(task.status)) throw new JobFailedError(task);
      } catch (error) {
        if (!isTemporary(error)) throw error;
        retryAfterMs = error.retryAfterMs;
        if (Date.now() - lastSuccessAt + (retryAfterMs ?? 0) > errorToleranceMs) throw error;
      }
      await sleep(pollDelayMs(Date.now() - startedAt, retryAfterMs, Math.random()), signal);
    }
  });
}

/**
 * Returns the pause before the next request, in milliseconds: an eighth of the elapsed time, at least 500 and at most
 * 5,000. `random` (0 to 1) spreads clients that started at the same time.
 *
 * @param retryAfterMs from a response that refused the request. On others, it is for clients without their own pauses
 */
export function pollDelayMs(elapsedMs: number, retryAfterMs: number | undefined, random: number): number {
  const pauseMs = Math.min(Math.max(elapsedMs * shareOfElapsed, minPauseMs), limits.pollMs.max / 1.2);
  return Math.max(pauseMs, retryAfterMs ?? 0) * (1 + 0.2 * random);
}
