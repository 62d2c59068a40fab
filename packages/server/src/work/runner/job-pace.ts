import { progress } from '@gen3d/schema';
import { quantile } from '../../base/quantile.js';
import { withLatest } from '../../base/recent-jobs.js';

/** Granularity of the reported progress, which limits the number of events per job. */
const progressStep = 10;
const progressSpan = progress.inferred - progress.inferring;

/**
 * The times from each step of the engine to the end of the job, for the last jobs of this process. A step is identified
 * by the fraction of the work that the engine then reports as done, 0..1.
 */
export class RemainingTimes {
  readonly #samples = new Map<number, readonly number[]>();

  /** The milliseconds from `fraction` to the end in the last jobs, the latest last. Empty before the first job. */
  after(fraction: number): readonly number[] {
    return this.#samples.get(fraction) ?? [];
  }

  /** The share of a job's time, 0..1, after which the last jobs reached the step that follows `fraction`. */
  shareAtStepAfter(fraction: number): number {
    const next = [...this.#samples.keys()].filter((step) => step > fraction).sort((a, b) => a - b)[0];
    const totalMs = quantile(this.after(0), 0.5);
    if (next === undefined || !totalMs) return 1;
    return 1 - quantile(this.after(next), 0.5)! / totalMs;
  }

  /** Adds a job that reached each fraction at the given time. */
  record(passedAt: ReadonlyMap<number, number>, endedAt: number): void {
    for (const [fraction, at] of passedAt) {
      this.#samples.set(fraction, withLatest(this.after(fraction), endedAt - at));
    }
  }
}

export interface JobPaceOptions {
  /** Called with each step of the job's progress. */
  onProgress: (progress: number) => void;
  /** Called after each step of the engine with the milliseconds that the last jobs took from there to their end. */
  onEstimate: (remainingMs: readonly number[]) => void;
}

/**
 * The progress of an inference. It rises evenly until the expected end, but not past the end of the current step: two
 * jobs at once take longer than the earlier ones did alone. Without earlier jobs, it rises after each step of the engine.
 */
export class JobPace {
  readonly #times: RemainingTimes;
  readonly #options: JobPaceOptions;
  readonly #passedAt = new Map<number, number>();
  readonly #startedAt = performance.now();
  #endsAt = 0;
  /** Share of the job's time at which the current step usually ends. */
  #stepEnd = 1;
  #reached: number = progress.inferring;
  #timer: NodeJS.Timeout | undefined;

  constructor(times: RemainingTimes, options: JobPaceOptions) {
    this.#times = times;
    this.#options = options;
    this.pass(0);
  }

  /** The engine has done this share of its work. */
  pass(fraction: number): void {
    const now = performance.now();
    this.#passedAt.set(fraction, now);
    const remainingMs = this.#times.after(fraction);
    const expectedMs = quantile(remainingMs, 0.5);
    if (expectedMs === undefined || fraction === 1) this.#reach(fraction);
    if (expectedMs === undefined) return;
    this.#endsAt = now + expectedMs;
    this.#stepEnd = this.#times.shareAtStepAfter(fraction);
    this.#options.onEstimate(remainingMs);
    this.#follow();
  }

  /** Ends the inference. */
  stop(): void {
    clearTimeout(this.#timer);
  }

  /** Adds the job, which has succeeded now, to the times. */
  record(): void {
    this.#times.record(this.#passedAt, performance.now());
  }

  #follow(): void {
    clearTimeout(this.#timer);
    const totalMs = this.#endsAt - this.#startedAt;
    const elapsedMs = performance.now() - this.#startedAt;
    this.#reach(Math.min(elapsedMs / totalMs, this.#stepEnd));
    if (this.#reached >= progress.inferred) return;
    const nextShare = (this.#reached + progressStep - progress.inferring) / progressSpan;
    if (nextShare > this.#stepEnd) return;
    this.#timer = setTimeout(() => this.#follow(), nextShare * totalMs - elapsedMs);
  }

  #reach(share: number): void {
    const steps = Math.floor((Math.min(1, share) * progressSpan) / progressStep);
    const reached = progress.inferring + steps * progressStep;
    if (reached <= this.#reached) return;
    this.#reached = reached;
    this.#options.onProgress(reached);
  }
}
