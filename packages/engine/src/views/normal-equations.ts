/** Sums of J·Jᵀ and J·r over residuals r with the derivatives J, for the steps of Gauss, Newton and Levenberg. */
export interface NormalEquations {
  readonly count: number;
  /** [count²], of which the lower triangle is used. */
  readonly matrix: Float64Array;
  readonly slope: Float64Array;
}

export const normalEquations = (count: number): NormalEquations => ({
  count,
  matrix: new Float64Array(count * count),
  slope: new Float64Array(count),
});

/** Adds a residual with its derivatives. */
export function addResidual({ count, matrix, slope }: NormalEquations, residual: number, row: Float64Array): void {
  for (let a = 0; a < count; a++) {
    const value = row[a]!;
    if (value === 0) continue;
    slope[a]! += value * residual;
    const at = a * count;
    for (let b = 0; b <= a; b++) matrix[at + b]! += value * row[b]!;
  }
}

/** Adds equations of some of the numbers to those of all, which has these numbers at `positions`. */
export function addEquations(all: NormalEquations, part: NormalEquations, positions: Int32Array): void {
  for (let a = 0; a < part.count; a++) {
    const row = positions[a]!;
    all.slope[row]! += part.slope[a]!;
    for (let b = 0; b <= a; b++) {
      const column = positions[b]!;
      all.matrix[Math.max(row, column) * all.count + Math.min(row, column)]! += part.matrix[a * part.count + b]!;
    }
  }
}

/**
 * Solves for the step that lowers the cost most, with Cholesky's decomposition. Numbers without a residual stay.
 *
 * @param damping shortens the step along each axis
 * @see Marquardt, "An Algorithm for Least-Squares Estimation of Nonlinear Parameters", 1963
 */
export function solveDamped({ count, matrix, slope }: NormalEquations, damping: number): Float64Array {
  const lower = matrix.slice();
  const step = slope.map((value) => -value);
  for (let i = 0; i < count; i++) {
    lower[i * count + i]! *= 1 + damping;
    for (let j = 0; j <= i; j++) {
      let sum = lower[i * count + j]!;
      for (let k = 0; k < j; k++) sum -= lower[i * count + k]! * lower[j * count + k]!;
      lower[i * count + j] = i === j ? Math.sqrt(Math.max(sum, 1e-12)) : sum / lower[j * count + j]!;
    }
  }
  for (let i = 0; i < count; i++) {
    for (let k = 0; k < i; k++) step[i]! -= lower[i * count + k]! * step[k]!;
    step[i]! /= lower[i * count + i]!;
  }
  for (let i = count - 1; i >= 0; i--) {
    for (let k = i + 1; k < count; k++) step[i]! -= lower[k * count + i]! * step[k]!;
    step[i]! /= lower[i * count + i]!;
  }
  return step;
}
