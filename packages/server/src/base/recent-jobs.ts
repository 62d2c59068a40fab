/** A small number, because photos, bundles and devices change. */
const keptJobs = 15;

/** Adds the figure of another job to those of the last ones, the latest last. */
export const withLatest = (figures: readonly number[], latest: number): readonly number[] =>
  [...figures, latest].slice(-keptJobs);
