import type { Box } from '../base/box.js';
import type { Camera } from '../base/camera.js';

/** The angle at which the camera looked down on the object, as the reconstructor estimates it; 0 is level. */
export interface Elevation {
  readonly radians: number;
  /** Standard deviation of the error; 0 where the angle is certain. */
  readonly spreadRadians: number;
}

/** A network's estimate. Its error on `models/lab/sets/validation` is about 7 degrees. */
export const learnedElevation = (radians: number): Elevation => ({ radians, spreadRadians: 0.12 });

/** Photos of an object on a table usually have this angle. */
export const usualElevation: Elevation = { radians: Math.PI / 12, spreadRadians: Math.PI / 12 };

/**
 * A scalar density over the photo camera's space (see `Camera`): the result of every reconstructor, learned or not, and
 * the input of everything after it.
 */
export interface DensityField {
  /** The value at the surface. Values inside are higher. */
  readonly threshold: number;
  /** Outside this box, the density is below the threshold everywhere. Camera space. */
  readonly bounds: Box;
  readonly camera: Camera;
  readonly elevation: Elevation | undefined;
  /** The angle by which the object is turned counterclockwise in the photo, if the photo is known not to be level. */
  readonly rollRadians?: number;
  /**
   * Intersection over union of the photo's outline and the field's in this camera, 0..1, where the two were compared.
   */
  readonly overlap?: number | undefined;
  /**
   * Whether the smoothed surface is projected back onto the field. True for a field that is smooth between the samples.
   * If it was interpolated from coarse steps, projection would restore the steps that smoothing removed.
   */
  readonly projects: boolean;
  /**
   * Whether the surface that the photo does not show is bumpy, because a network guesses its depth separately for each
   * position of the image. It is then faired; see `fair`. False for completed solids, whose edges are meant.
   */
  readonly bumpyBehind: boolean;
  /** The kind of solid that replaced a network's prediction, if one did. */
  readonly completedAs?: 'cuboid' | 'revolution' | undefined;
  /**
   * Evaluates the density.
   *
   * @param points [3·N] camera-space positions
   * @param density [N], filled in the points' order
   */
  evaluate(points: Float32Array, density: Float32Array): Promise<void>;
  /**
   * Whether the colors depend only on the position in the image. They then repeat marks of the front on the far side,
   * such as eyes and labels.
   */
  readonly colorsRepeatFront?: boolean;
  /**
   * Evaluates the reconstructor's guess of the object's color, for parts that the photo does not show. Absent if it has
   * none.
   *
   * @param points [3·N] camera-space positions
   * @param colors [3·N] sRGB in 0..1, filled in the points' order
   */
  evaluateColors?(points: Float32Array, colors: Float32Array): Promise<void>;
}

/** Evaluates a density at each of many points. */
export const evaluateEach =
  (density: (x: number, y: number, z: number) => number): DensityField['evaluate'] =>
  async (points, values) => {
    for (let i = 0, p = 0; i < values.length; i++, p += 3) {
      values[i] = density(points[p]!, points[p + 1]!, points[p + 2]!);
    }
  };

/** A field without a camera: Y is up, and the side that the photo shows faces +Z. */
export type CameralessField = Omit<DensityField, 'camera'>;

/** Returns the colors [3·N] of a field at points [3·N], sRGB in 0..1. Undefined if it has none. */
export async function colorsAt(field: CameralessField, points: Float32Array): Promise<Float32Array | undefined> {
  if (!field.evaluateColors) return undefined;
  const colors = new Float32Array(points.length);
  await field.evaluateColors(points, colors);
  return colors;
}

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
