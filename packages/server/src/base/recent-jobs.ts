/** A small number, because photos, bundles and devices change. */
const keptJobs = 15;

/** Adds the figure of another job to those of the last ones, the latest last. */
export const withLatest = (figures: readonly number[], latest: number): readonly number[] =>
  [...figures, latest].slice(-keptJobs);

/**
 * Returns the smallest value that is at least as large as a `share` (0 to 1) of the values. Undefined without values.
 */
export function quantile(values: readonly number[], share: number): number | undefined {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
}
