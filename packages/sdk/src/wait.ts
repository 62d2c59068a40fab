import type { Task } from '@gen3d/schema';
import { isTerminal, limits } from '@gen3d/schema/rules';
import { type RequestOptions, withDeadline } from './deadline.js';
import { ConnectionError, JobFailedError, RateLimitError, ServerError, WaitTimeoutError } from './errors.js';

export interface WaitOptions extends RequestOptions {
  /** Ends the waiting, not the job: the API cannot cancel one. */
  readonly signal?: AbortSignal | undefined;
  /** How long to wait in all, then a `WaitTimeoutError`. Default: until the job ends, however long the queue is. */
  readonly timeoutMs?: number | undefined;
  /** Called with the first state read and with every later change of status or progress. */
  readonly onProgress?: ((task: Task) => void) | undefined;
}

/** One read of the job; `retryAfterMs` where the server said when to come back. */
export type ReadTask = (signal: AbortSignal) => Promise<{ task: Task; retryAfterMs: number | undefined }>;

// A server that restarts, or a laptop that slept, loses no job; this long we go on asking in spite of errors.
const patienceMs = 60_000;

/**
 * Reads a job until it ends.
 *
 * @throws {JobFailedError} if it ended without a model
 * @throws {WaitTimeoutError} if `timeoutMs` ran out
 */
export async function waitForJob(id: string, read: ReadTask, options: WaitOptions = {}): Promise<Task> {
  const { onProgress } = options;
  const startedAt = Date.now();
  let lastContactAt = startedAt;
  let last: Task | undefined;
  const overdue = (timeoutMs: number) => new WaitTimeoutError(id, last, timeoutMs);
  return withDeadline(options, overdue, async (signal) => {
    for (;;) {
      let askedToWaitMs: number | undefined;
      try {
        const { task, retryAfterMs } = await read(signal);
        lastContactAt = Date.now();
        if (task.status !== last?.status || task.progress !== last.progress) onProgress?.(task);
        last = task;
        if (isTerminal(task.status)) return succeeded(task);
        askedToWaitMs = retryAfterMs;
      } catch (error) {
        if (!passes(error) || Date.now() - lastContactAt + (error.retryAfterMs ?? 0) > patienceMs) throw error;
        askedToWaitMs = error.retryAfterMs;
      }
      await sleep(pollDelayMs(Date.now() - startedAt, askedToWaitMs, Math.random()), signal);
    }
  });
}

/**
 * The pause before the next read. The contract suggests 2-5 s; a job takes seconds, so the first pause is shorter, and
 * who has waited for long may wait a little longer. `random` in 0..1 spreads clients that started together.
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

const passes = (error: unknown): error is ConnectionError | RateLimitError | ServerError =>
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
