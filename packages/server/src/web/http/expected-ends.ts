import { limits } from '@gen3d/schema';
import { cached } from '../../base/cached.js';
import { quantile } from '../../base/quantile.js';
import type { JobMessage } from '../../work/processes/messages.js';

/** How many waiting jobs the estimates look at. Jobs behind them are far from their end. */
export const queueHeadSize = 50;
/** Few, because photos, bundles and devices change. */
const keptJobs = 9;
/** Added to the remaining time. Asking just before the end would cost another second. */
const marginMs = 50;
/** More running jobs than any machine has. Jobs that another process takes over never report their end. */
const maxRunning = 1_000;

/**
 * When jobs are expected to finish, from the reports of this server's runners. Jobs that run on other machines have no
 * estimate.
 */
export class ExpectedEnds {
  /** Expected ends of the jobs in inference, in milliseconds of `performance.now()`. */
  readonly #running = new Map<string, number>();
  /** Total stage times of the last jobs, in milliseconds. */
  #durations: number[] = [];
  readonly #queueHead: () => Promise<string[]>;
  readonly #slots: number;

  /**
   * `readQueueHead` reads the ids of the first waiting jobs, in queue order. Called at most once per second.
   * `slots`: how many jobs this server's runners work on concurrently.
   */
  constructor(readQueueHead: () => Promise<string[]>, slots: number) {
    this.#queueHead = cached(readQueueHead);
    this.#slots = slots;
  }

  record(message: JobMessage): void {
    if (message.type === 'expecting') {
      this.#running.set(message.jobId, performance.now() + message.remainingMs);
      const [oldest] = this.#running.keys();
      if (oldest !== undefined && this.#running.size > maxRunning) this.#running.delete(oldest);
    }
    if (message.type !== 'finished') return;
    this.#running.delete(message.jobId);
    if (message.status !== 'SUCCEEDED') return;
    const duration = Object.values(message.stageTimes).reduce((sum, ms) => sum + ms, 0);
    this.#durations = [...this.#durations, duration].slice(-keptJobs);
  }

  /** The milliseconds until the job is expected to finish; negative if it is late. Undefined without an estimate. */
  async remainingMs(jobId: string): Promise<number | undefined> {
    const now = performance.now();
    const end = this.#running.get(jobId);
    if (end !== undefined) return end - now;
    const duration = quantile(this.#durations, 0.5);
    if (duration === undefined) return undefined;
    const waiting = (await this.#queueHead()).filter((id) => !this.#running.has(id));
    const position = waiting.indexOf(jobId);
    const jobsAhead = position === -1 ? waiting.length : position;
    // When each slot of the runners is free. A waiting job starts in the first one.
    const free = [...this.#running.values()].map((time) => Math.max(now, time));
    while (free.length < this.#slots) free.push(now);
    for (let job = 0; job < jobsAhead; job++) {
      const first = Math.min(...free);
      free[free.indexOf(first)] = first + duration;
    }
    return Math.min(...free) + duration - now;
  }
}

/**
 * The pause before the next request, 1 to 5 s. The last request comes at the expected end, and the one before it a second
 * earlier, when the end is known more precisely.
 */
export function pauseMs(remainingMs: number): number {
  if (remainingMs < 2_000) return Math.max(1_000, Math.round(remainingMs));
  if (remainingMs < 5_000) return 1_000;
  return Math.round(Math.min(limits.pollMs.max, Math.max(limits.pollMs.min, remainingMs / 10)));
}

/** Tells a client when to ask again. `Retry-After` has whole seconds, too coarse for jobs of a few seconds. */
export function pollingHeaders(remainingMs: number | undefined): Record<string, string> {
  const maxSeconds = limits.pollMs.min / 1_000;
  if (remainingMs === undefined) return { 'retry-after': String(maxSeconds) };
  const pause = pauseMs(remainingMs + marginMs);
  return {
    'retry-after': String(Math.min(maxSeconds, Math.floor(pause / 1_000))),
    'retry-after-ms': String(pause),
  };
}
