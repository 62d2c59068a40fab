import { progress } from '@gen3d/schema';

/** Granularity of the reported progress, which limits the number of events per job. */
const progressStep = 10;
const progressSpan = progress.inferred - progress.inferring;

/**
 * Returns a function that takes the fraction of the work that the engine reports as done, 0 to 1, and calls `onStep` with
 * the job's progress whenever that reaches another step.
 */
export function progressSteps(onStep: (progress: number) => void): (fraction: number) => void {
  let reached: number = progress.inferring;
  return (fraction) => {
    const next = progress.inferring + progressStep * Math.floor((fraction * progressSpan) / progressStep);
    if (next <= reached) return;
    reached = next;
    onStep(next);
  };
}
