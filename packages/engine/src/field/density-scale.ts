/**
 * Converts densities to a measure of distance from the surface: 0 on it, positive inside, and changing about evenly
 * with the distance, so that slopes show what the field can do between two samples.
 */
export interface DensityScale {
  of(density: number): number;
  /** Inverts `of`. */
  densityAt(distance: number): number;
}

// Below this share of the threshold, a density no longer indicates the distance.
const minShare = 1e-6;

/**
 * Chooses the scale of a field from some of its values.
 *
 * A density that is positive everywhere is an exponential (TripoSR's: 0 to thousands, cut at 25). Its logarithm is what
 * the network computed, and changes evenly. Any other density is used as it is.
 */
export function densityScale(samples: Float32Array, threshold: number): DensityScale {
  if (!(threshold > 0) || samples.some((density) => density < 0)) {
    return { of: (density) => density - threshold, densityAt: (distance) => threshold + distance };
  }
  const min = minShare * threshold;
  const middle = Math.log(threshold);
  return {
    of: (density) => Math.log(Math.max(density, min)) - middle,
    densityAt: (distance) => Math.exp(distance + middle),
  };
}
