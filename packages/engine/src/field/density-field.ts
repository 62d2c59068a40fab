import type { Camera } from '../base/camera.js';

/** An axis-aligned box: corners `min` and `max`, each [x, y, z]. */
export interface Box {
  readonly min: readonly [number, number, number];
  readonly max: readonly [number, number, number];
}

/** The longest side of a box. */
export const extentOf = ({ min, max }: Box): number => Math.max(max[0] - min[0], max[1] - min[1], max[2] - min[2]);

/** How far the camera looked down on the object, as the reconstructor sees it; 0 is level, positive from above. */
export interface Elevation {
  readonly radians: number;
  /** Standard deviation of the error; 0 where it cannot be otherwise. */
  readonly spreadRadians: number;
}

/** How far a network that guesses the elevation from the photo is off, about: on `models/training/validation`, 7 degrees. */
export const learnedElevation = (radians: number): Elevation => ({ radians, spreadRadians: 0.12 });

/**
 * A scalar density over the photo camera's space (see `Camera`): every reconstructor, learned or not, ends as one of
 * these, and everything after it only knows this.
 */
export interface DensityField {
  /** The value at which the surface lies; inside is above. */
  readonly threshold: number;
  /** The density is below the threshold everywhere outside this box. Camera space. */
  readonly bounds: Box;
  readonly camera: Camera;
  readonly elevation: Elevation | undefined;
  /**
   * Whether the smoothed surface is put back on where the field has it. For a field that is smooth between the samples;
   * where it was interpolated from coarse steps, smoothing has just taken these out.
   */
  readonly projects: boolean;
  /**
   * Evaluates the density.
   *
   * @param points [3·N] camera-space positions
   * @param density [N], filled in the points' order
   */
  evaluate(points: Float32Array, density: Float32Array): Promise<void>;
  /**
   * Says what colour the reconstructor takes the object to be there, for what the photo did not see. Absent where it
   * knows no colours.
   *
   * @param points [3·N] camera-space positions
   * @param colors [3·N] sRGB in 0..1, filled in the points' order
   */
  evaluateColors?(points: Float32Array, colors: Float32Array): Promise<void>;
}

/** A field without a camera: its space stands upright, and the side that the photo shows is towards +Z. */
export type CameralessField = Omit<DensityField, 'camera'>;
