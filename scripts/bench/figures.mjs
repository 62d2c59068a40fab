/**
 * Prints a row of a Markdown table.
 *
 * @param {ReadonlyArray<string | number>} cells
 */
export function row(...cells) {
  console.log(`| ${cells.join(' | ')} |`);
}

/**
 * The smallest of the values that is not below a `share` (0 to 1) of them; NaN without values.
 *
 * @param {Iterable<number>} values
 * @param {number} share
 */
export function quantile(values, share) {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

/** @param {Iterable<number>} values */
export const median = (values) => quantile(values, 0.5);

/** @param {readonly number[]} values */
export const sum = (values) => values.reduce((total, value) => total + value, 0);

/** @param {readonly number[]} values */
export const average = (values) => sum(values) / Math.max(1, values.length);
