/** Says how much a device's outputs differ from the CPU's. */
export interface Difference {
  /**
   * Root mean square of the error, divided by the standard deviation of the CPU's values; the maximum over all tensors.
   */
  readonly rms: number;
  /** Maximum error, divided by the range of the CPU's values; the maximum over all tensors. */
  readonly largest: number;
}

/**
 * Maximum difference of a correct device. Providers add in another order (1e-6), in TensorFloat-32 (1e-3), or in half
 * precision (up to 5e-3 after some hundred layers). The wrong kernels that have been reported are off by 0.5 or more.
 * `largest` finds errors in a few places, which a mean would not show.
 */
export const tolerance: Difference = { rms: 0.01, largest: 0.1 };

export const isTolerable = ({ rms, largest }: Difference): boolean =>
  rms <= tolerance.rms && largest <= tolerance.largest;

/**
 * Compares tensors of the same names and sizes. If a value is NaN, or infinite where the other is not, both figures are
 * infinite.
 */
export function difference(
  expected: ReadonlyMap<string, Float32Array>,
  actual: ReadonlyMap<string, Float32Array>,
): Difference {
  let rms = 0;
  let largest = 0;
  for (const [name, values] of expected) {
    const found = differenceOf(values, actual.get(name));
    rms = Math.max(rms, found.rms);
    largest = Math.max(largest, found.largest);
  }
  return { rms, largest };
}

function differenceOf(expected: Float32Array, actual: Float32Array | undefined): Difference {
  let [count, sum, squares, errorSquares, max] = [0, 0, 0, 0, 0];
  let [low, high] = [Infinity, -Infinity];
  for (let i = 0; i < expected.length; i++) {
    const [a, b] = [expected[i]!, actual?.[i]];
    // exp() of a large logit is Infinity on every device.
    if (a === b && !Number.isFinite(a)) continue;
    const error = Math.abs(a - (b ?? Number.NaN));
    if (!Number.isFinite(error)) return { rms: Infinity, largest: Infinity };
    count++;
    sum += a;
    squares += a * a;
    errorSquares += error * error;
    max = Math.max(max, error);
    low = Math.min(low, a);
    high = Math.max(high, a);
  }
  if (max === 0) return { rms: 0, largest: 0 };
  const deviation = Math.sqrt(Math.max(0, squares / count - (sum / count) ** 2));
  // A constant tensor has no spread, so the error is relative to its value.
  const size = Math.max(Math.abs(low), Math.abs(high), Number.MIN_VALUE);
  return { rms: Math.sqrt(errorSquares / count) / (deviation || size), largest: max / (high - low || size) };
}
