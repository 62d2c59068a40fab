/** Prints a row of a Markdown table. */
export function row(...cells) {
  console.log(`| ${cells.join(' | ')} |`);
}

/** The smallest of the values that is not below a `share` (0 to 1) of them; NaN without values. */
export function quantile(values, share) {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

export const median = (values) => quantile(values, 0.5);
