import { progress } from '@gen3d/schema';
import { withLatest } from '../../base/recent-jobs.js';

/** Granularity of the reported progress, which limits the number of events per job. */
const progressStep = 10;
const progressSpan = progress.inferred - progress.inferring;

export interface JobPaceOptions {
  /** Called with each step of the job's progress. */
  onProgress: (progress: number) => void;
  /** Called after each step of the engine with the milliseconds that the last jobs took from there to their end. */
  onEstimate: (remainingMs: readonly number[]) => void;
}

/**
 * Follows the progress of a process's inferences, and remembers how long the last ones took from each step of the
 * engine to their end. A step is identified by the fraction of the work that the engine then reports as done, 0..1.
 */
export class JobPace {
  readonly #remainingMs = new Map<number, readonly number[]>();

  /** Starts an inference. Its `pass` takes the fractions, and its `record` is called when the job has succeeded. */
  start({ onProgress, onEstimate }: JobPaceOptions): { pass(fraction: number): void; record(): void } {
    const passedAt = new Map<number, number>();
    let reached: number = progress.inferring;
    const pass = (fraction: number) => {
      passedAt.set(fraction, performance.now());
      const remainingMs = this.#remainingMs.get(fraction);
      if (remainingMs) onEstimate(remainingMs);
      const next = progress.inferring + progressStep * Math.floor((fraction * progressSpan) / progressStep);
      if (next > reached) onProgress(next);
      reached = Math.max(reached, next);
    };
    const record = () => {
      const endedAt = performance.now();
      for (const [fraction, at] of passedAt) {
        this.#remainingMs.set(fraction, withLatest(this.#remainingMs.get(fraction) ?? [], endedAt - at));
      }
    };
    pass(0);
    return { pass, record };
  }
}
