/**
 * How far from the surface a density is: near 0 close by, positive inside, and changing about evenly with the distance,
 * so that a slope says something about what lies between two samples.
 */
export interface DensityScale {
  of(density: number): number;
  /** The density that is so far from the surface. */
  densityAt(distance: number): number;
}

// Below this share of the threshold a density is nothing at all, and how little nothing is tells no distance.
const leastShare = 1e-6;

/**
 * The scale of a field, judged by some of its values.
 *
 * A density that is positive everywhere comes out of an exponential (TripoSR's: 0 to thousands, cut at 25), whose
 * logarithm is what the network computed and changes evenly; any other is taken as it is.
 */
export function densityScale(samples: Float32Array, threshold: number): DensityScale {
  if (!(threshold > 0) || samples.some((density) => density < 0)) {
    return { of: (density) => density - threshold, densityAt: (distance) => threshold + distance };
  }
  const least = leastShare * threshold;
  const middle = Math.log(threshold);
  return {
    of: (density) => Math.log(Math.max(density, least)) - middle,
    densityAt: (distance) => Math.exp(distance + middle),
  };
}
