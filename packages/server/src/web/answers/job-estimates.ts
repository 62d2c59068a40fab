import { type JobStatus, limits } from '@gen3d/schema';
import type { JobEstimate } from '@gen3d/schema/rules';
import { cached } from '../../base/cached.js';
import { quantile, withLatest } from '../../base/recent-jobs.js';
import type { JobMessage } from '../../work/processes/messages.js';

/** How many waiting jobs the estimates look at. Jobs behind them are far from their end. */
export const queueHeadSize = 200;
/** Added to each remaining time, because a client that asks just before the end has to wait another second. */
const marginMs = 50;
/** More running jobs than any machine has. Jobs that another process takes over never report their end. */
const maxRunning = 1_000;

interface RunningJob {
  /** Possible ends in milliseconds of `performance.now()`, one per earlier job. Absent without an earlier job. */
  ends?: readonly number[];
  stage?: string;
}

/** Estimates when jobs finish, from the reports of this server's runners. Jobs on other machines have no estimate. */
export class EtaEstimator {
  readonly #running = new Map<string, RunningJob>();
  /** Total stage times of the last jobs, in milliseconds. */
  #durations: readonly number[] = [];
  readonly #queueHead: () => Promise<string[]>;
  readonly #slots: () => number;

  /**
   * @param readQueueHead reads the ids of the first waiting jobs, in queue order. Called at most once per second
   * @param slots returns how many jobs this server's runners work on concurrently
   */
  constructor(readQueueHead: () => Promise<string[]>, slots: () => number) {
    this.#queueHead = cached(readQueueHead);
    this.#slots = slots;
  }

  record(message: JobMessage): void {
    if (message.type === 'stage') this.#update(message.jobId, { stage: message.stage });
    if (message.type === 'expecting') {
      const now = performance.now();
      this.#update(message.jobId, { ends: message.remainingMs.map((ms) => now + ms) });
    }
    if (message.type !== 'finished' && message.type !== 'left') return;
    this.#running.delete(message.jobId);
    if (message.type === 'left' || message.status !== 'SUCCEEDED') return;
    const duration = Object.values(message.stageTimes).reduce((sum, ms) => sum + ms, 0);
    this.#durations = withLatest(this.#durations, duration);
  }

  #update(jobId: string, change: RunningJob): void {
    this.#running.set(jobId, { ...this.#running.get(jobId), ...change });
    const [oldest] = this.#running.keys();
    if (oldest !== undefined && this.#running.size > maxRunning) this.#running.delete(oldest);
  }

  /** Estimates how far an unfinished job is, for clients to show. */
  async estimate({ id, status }: { id: string; status: JobStatus }): Promise<JobEstimate> {
    const stage = this.#running.get(id)?.stage;
    if (status === 'IN_PROGRESS') return stage === undefined ? {} : { stage };
    const head = await this.#queueHead();
    // The job is too far behind, or newer than this reading of the queue.
    if (!head.includes(id) && head.length >= queueHeadSize) return {};
    return { position: (await this.#jobsAhead(id)) + 1 };
  }

  /** Counts the jobs whose inference starts earlier. */
  async #jobsAhead(jobId: string): Promise<number> {
    const waiting = (await this.#queueHead()).filter((id) => !this.#running.has(id));
    const position = waiting.indexOf(jobId);
    return position === -1 ? waiting.length : position;
  }

  /**
   * Estimates in how many milliseconds the job finishes, once according to each of the last jobs. Negative if it is
   * late. Empty without an estimate.
   */
  async remainingMs(jobId: string): Promise<readonly number[]> {
    const now = performance.now();
    const ends = this.#running.get(jobId)?.ends;
    if (ends) return ends.map((end) => end - now);
    const duration = quantile(this.#durations, 0.5);
    if (duration === undefined) return [];
    const jobsAhead = await this.#jobsAhead(jobId);
    // When each slot of the runners is free. A waiting job starts in the first one.
    const free = [...this.#running.values()].map(({ ends = [] }) =>
      Math.max(now, quantile(ends, 0.5) ?? now + duration),
    );
    const slots = this.#slots();
    while (free.length < slots) free.push(now);
    for (let job = 0; job < jobsAhead; job++) {
      const first = Math.min(...free);
      free[free.indexOf(first)] = first + duration;
    }
    const start = Math.min(...free);
    return this.#durations.map((ms) => start + ms - now);
  }
}

/** A client asks at most once per second. */
const minPauseMs = 1_000;

/**
 * Computes how long after the end a client notices it, if it asks after `askMs` and, if the job is not finished then,
 * again at its end, but at least a second later.
 */
const delayMs = (endMs: number, askMs: number): number =>
  endMs <= askMs ? askMs - endMs : Math.max(0, askMs + minPauseMs - endMs);

/**
 * Chooses the pause before the next request, 1 to 5 s, that has the shortest mean delay over the possible ends. In a
 * replay of the stage times of two alternating photos, the delay is 0.16 s. With a pause until the median end, it is
 * 0.49 s.
 */
export function pauseMs(remainingMs: readonly number[]): number {
  const ends = remainingMs.map((ms) => Math.round(ms) + marginMs);
  const { min, max } = limits.pollMs;
  const earliest = Math.min(...ends);
  if (earliest >= max) return Math.min(max, Math.max(min, Math.round(earliest / 10)));
  // The longest first, because among equal delays, a longer pause takes fewer requests.
  const pauses = [minPauseMs, min, ...ends.flatMap((end) => [end, end - minPauseMs])]
    .filter((pause) => pause >= minPauseMs && pause <= min)
    .sort((a, b) => b - a);
  const total = (pause: number) => ends.reduce((sum, end) => sum + delayMs(end, pause), 0);
  return pauses.reduce((best, pause) => (total(pause) < total(best) ? pause : best));
}

/**
 * Returns the headers that tell a client when to ask again. `Retry-After` has whole seconds, which is too coarse for
 * jobs of a few seconds.
 */
export function pollingHeaders(remainingMs: readonly number[]): Record<string, string> {
  const maxSeconds = limits.pollMs.min / 1_000;
  if (remainingMs.length === 0) return { 'retry-after': String(maxSeconds) };
  const pause = pauseMs(remainingMs);
  return {
    'retry-after': String(Math.min(maxSeconds, Math.floor(pause / 1_000))),
    'retry-after-ms': String(pause),
  };
}
