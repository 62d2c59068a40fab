import type { Task } from '@gen3d/schema';
import { isTerminal, type JobEstimate, limits } from '@gen3d/schema/rules';
import { type RequestOptions, withDeadline } from './deadline.js';
import { ConnectionError, JobFailedError, RateLimitError, ServerError, WaitTimeoutError } from './errors.js';

// Waits for a job by polling, since the contract has neither long polls nor server-sent events. The server says when it
// expects the job to end (`Retry-After-Ms`), so a poll seldom comes early; other servers are polled every 2 to 5 s. A
// restart of the server, or a minute without a network, does not end the wait.

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

/** Retrieves the job once, with the response's `Retry-After`, `Retry-After-Ms` and estimate if it has them. */
export type ReadTask = (signal: AbortSignal) => Promise<{ task: Task; estimate?: JobEstimate } & Pauses>;

/** How long a response asks the client to wait, in milliseconds. */
export interface Pauses {
  readonly retryAfterMs?: number | undefined;
  readonly preciseRetryAfterMs?: number | undefined;
}

// Long enough for a restart of the server or a short loss of the network.
const errorToleranceMs = 60_000;

/**
 * Polls a job until it ends.
 *
 * @throws {JobFailedError} if it ends without a model
 * @throws {WaitTimeoutError} if `timeoutMs` elapses
 */
export async function waitForJob(id: string, read: ReadTask, options: WaitOptions = {}): Promise<Task> {
  const { onProgress } = options;
  const startedAt = Date.now();
  let lastSuccessAt = startedAt;
  let lastTask: Task | undefined;
  let lastState = '';
  const timeoutError = (timeoutMs: number) => new WaitTimeoutError(id, lastTask, timeoutMs);
  return withDeadline(options, timeoutError, async (signal) => {
    for (;;) {
      let requested: Pauses;
      try {
        const { task, estimate = {}, ...pauses } = await read(signal);
        lastSuccessAt = Date.now();
        const state = [task.status, task.progress, estimate.position, estimate.stage].join();
        if (state !== lastState) onProgress?.(task, estimate);
        lastState = state;
        lastTask = task;
        if (isTerminal(task.status)) return succeeded(task);
        requested = pauses;
      } catch (error) {
        if (!isTemporary(error) || Date.now() - lastSuccessAt + (error.retryAfterMs ?? 0) > errorToleranceMs)
          throw error;
        requested = { retryAfterMs: error.retryAfterMs };
      }
      await sleep(pollDelayMs(Date.now() - startedAt, requested, Math.random()), signal);
    }
  });
}

/** A job is read at most once per second, regardless of the server's response. */
const minPauseMs = 1_000;

/**
 * Returns the pause before the next request, in milliseconds. A server that estimates the end of the job gives it in
 * `Retry-After-Ms`.
 *
 * For other servers, the contract suggests 2 to 5 s. Jobs can take only seconds, so the first pause is shorter, and
 * pauses grow with the elapsed time. `random` (0 to 1) spreads clients that started at the same time.
 */
export function pollDelayMs(
  elapsedMs: number,
  { retryAfterMs = 0, preciseRetryAfterMs }: Pauses,
  random: number,
): number {
  const { min, max } = limits.pollMs;
  if (preciseRetryAfterMs !== undefined) return Math.min(max, Math.max(minPauseMs, preciseRetryAfterMs));
  const base = elapsedMs < min / 2 ? minPauseMs : Math.min(max / 1.2, Math.max(min, elapsedMs / 15));
  return Math.max(base, retryAfterMs) * (1 + 0.2 * random);
}

function succeeded(task: Task): Task {
  if (task.status === 'SUCCEEDED') return task;
  throw new JobFailedError(task);
}

const isTemporary = (error: unknown): error is ConnectionError | RateLimitError | ServerError =>
  error instanceof ConnectionError || error instanceof RateLimitError || error instanceof ServerError;

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', abort);
      resolve();
    }, ms);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
}
