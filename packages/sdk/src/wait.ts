import type { Task, TaskUpdatedEvent } from '@gen3d/schema';
import { isTerminal, type JobEstimate, limits } from '@gen3d/schema/rules';
import { type RequestOptions, withDeadline } from './deadline.js';
import { isTemporary, JobFailedError, WaitTimeoutError } from './errors.js';
import { sleep } from './sleep.js';

// Waits for a job by polling, which every server of the contract supports. Where the server also streams the job's
// events, each one ends the pause between two polls; the stream never replaces the polls, so a proxy that holds it back
// or cuts it only makes the wait longer. A restart of the server, or a minute without a network, does not end the wait.

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

/** Reads the events of the job. */
export type FollowJob = (signal: AbortSignal) => AsyncIterable<TaskUpdatedEvent> | Iterable<TaskUpdatedEvent>;

const withoutEvents: FollowJob = () => [];

// Long enough for a restart of the server or a short loss of the network.
const errorToleranceMs = 60_000;
/** A job is read at most once per second, unless it has ended. */
const minPauseMs = 1_000;

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
  follow: FollowJob = withoutEvents,
): Promise<Task> {
  const { onProgress } = options;
  let changes: JobChanges | undefined;
  const startedAt = Date.now();
  let lastSuccessAt = startedAt;
  let lastTask: Task | undefined;
  let lastState = '';
  const timeoutError = (timeoutMs: number) => new WaitTimeoutError(id, lastTask, timeoutMs);
  const work = async (signal: AbortSignal) => {
    for (;;) {
      const pauseMs = (retryAfterMs?: number) => pollDelayMs(Date.now() - startedAt, retryAfterMs, Math.random());
      try {
        const { task, estimate = {}, retryAfterMs } = await read(signal);
        lastSuccessAt = Date.now();
        const state = [task.status, task.progress, estimate.position, estimate.stage].join();
        if (state !== lastState) onProgress?.(task, estimate);
        lastState = state;
        lastTask = task;
        if (isTerminal(task.status)) return succeeded(task);
        changes ??= new JobChanges(follow);
        await changes.next(pauseMs(retryAfterMs), signal);
      } catch (error) {
        if (!isTemporary(error) || Date.now() - lastSuccessAt + (error.retryAfterMs ?? 0) > errorToleranceMs)
          throw error;
        await sleep(pauseMs(error.retryAfterMs), signal);
      }
    }
  };
  return withDeadline(options, timeoutError, work).finally(() => changes?.close());
}

/** Follows the events of a job. Without a stream, there are none. */
class JobChanges {
  readonly #closed = new AbortController();
  #latest: TaskUpdatedEvent | undefined;
  #onEvent = () => {};

  constructor(follow: FollowJob) {
    // The server may have no such stream, or cannot send it now. Polls continue.
    void this.#read(follow).catch(() => {});
  }

  async #read(follow: FollowJob): Promise<void> {
    for await (const event of follow(this.#closed.signal)) {
      this.#latest = event;
      this.#onEvent();
    }
  }

  /** Waits until the job has ended, has changed and was last read a second ago, or was last read `pauseMs` ago. */
  async next(pauseMs: number, signal: AbortSignal): Promise<void> {
    await this.#pause(minPauseMs, signal, ({ status }) => isTerminal(status));
    await this.#pause(pauseMs - minPauseMs, signal, () => true);
    this.#latest = undefined;
  }

  /** Waits for `ms`, or until the latest event is enough. */
  #pause(ms: number, signal: AbortSignal, isEnough: (event: TaskUpdatedEvent) => boolean): Promise<void> {
    const enough = new Promise<void>((resolve) => {
      this.#onEvent = () => {
        if (this.#latest && isEnough(this.#latest)) resolve();
      };
      this.#onEvent();
    });
    return sleep(ms, signal, enough);
  }

  close(): void {
    this.#closed.abort();
  }
}

/**
 * Returns the pause before the next request, in milliseconds.
 *
 * The contract suggests 2 to 5 s. Jobs can take only seconds, so the first pause is shorter, and pauses grow with the
 * elapsed time. `random` (0 to 1) spreads clients that started at the same time.
 */
export function pollDelayMs(elapsedMs: number, retryAfterMs: number | undefined, random: number): number {
  const { min, max } = limits.pollMs;
  const base = elapsedMs < min / 2 ? minPauseMs : Math.min(max / 1.2, Math.max(min, elapsedMs / 15));
  return Math.max(base, retryAfterMs ?? 0) * (1 + 0.2 * random);
}

function succeeded(task: Task): Task {
  if (task.status === 'SUCCEEDED') return task;
  throw new JobFailedError(task);
}
