import type { Box } from '../../base/box.js';
import { type Camera, frameScale } from '../../base/camera.js';
import { clamp, sampleSquare } from '../../base/interpolation.js';
import type { Elevation } from '../density-field.js';
import { signedDistance } from '../distance-transform.js';

/** A density at a point in the photo camera's space, positive inside. */
export type Density = (x: number, y: number, z: number) => number;

/** The photo's outline, as its camera sees it. Positions are from -1 (left or top edge of the frame) to 1. */
export interface Outline {
  readonly camera: Camera;
  /** Returns the density of the outline alone, with thin parts widened. */
  readonly densityAt: (u: number, v: number) => number;
  /** How far a position is inside the photo's own outline, in the same units; negative outside. */
  readonly distanceInside: (u: number, v: number) => number;
}

/** The network's prediction, in the space of the outline's camera. */
export interface Front {
  /** The density of the whole object. Negative outside the bounds. */
  readonly density: Density;
  readonly bounds: Box;
  /** The angle by which the camera looked down. */
  readonly elevationRadians: number;
  readonly seen: Seen;
}

/** A solid that replaces the prediction, in the space of `camera` instead of that of the network's camera. */
export interface Solid {
  readonly density: Density;
  readonly camera: Camera;
  readonly bounds: Box;
  readonly elevation: Elevation;
  /** See `DensityField` for these two. */
  readonly rollRadians: number;
  readonly completedAs: 'cuboid' | 'revolution';
}

/** Finds a solid of one kind that explains the outline and the front. Undefined for objects of other kinds. */
export type FindSolid = (outline: Outline, front: Front) => Solid | undefined;

/** Pixels across the frame at which a solid is compared with the photo. */
export const seenSize = 64;
/** Pixels per unit of the frame, which is 2 wide. */
export const toPixels = seenSize / 2;

/** A photo as solids are compared with it: lists of the pixels that the object covers, at least in part. */
export interface Seen {
  /** Their numbers, by rows from the top. */
  readonly pixel: Float64Array;
  /** Their positions: -1 (left or top edge of the frame) to 1. */
  readonly u: Float64Array;
  readonly v: Float64Array;
  /** 0..1. */
  readonly coverage: Float64Array;
  readonly totalCoverage: number;
  /** Depth, as z in camera space, at which the pixel's ray enters and leaves the prediction; NaN if it never does. */
  readonly front: Float64Array;
  readonly back: Float64Array;
}

export function frontOf(density: Density, outline: Outline, bounds: Box, elevationRadians: number): Front {
  const { min, max } = bounds;
  const pixels: { pixel: number; u: number; v: number; coverage: number; front: number; back: number }[] = [];
  const samples = 96;
  const step = (max[2] - min[2]) / samples;
  for (let pixel = 0; pixel < seenSize * seenSize; pixel++) {
    const [u, v] = positionOf(pixel);
    const coverage = coverageAt(outline.distanceInside(u, v));
    if (coverage === 0) continue;
    let [front, back] = [NaN, NaN];
    let before = -1;
    for (let i = 0; i <= samples; i++) {
      const z = max[2] - i * step;
      const scale = frameScale(outline.camera, z);
      const value = density(u * scale, -v * scale, z);
      if (before <= 0 && value > 0 && Number.isNaN(front)) front = z + (step * value) / (value - before);
      if (before > 0 && value <= 0) back = z + (step * -value) / (before - value);
      before = value;
    }
    pixels.push({ pixel, u, v, coverage, front, back: before > 0 ? min[2] : back });
  }
  const list = (key: keyof (typeof pixels)[number]) => Float64Array.from(pixels, (seen) => seen[key]);
  const seen = {
    ...{ pixel: list('pixel'), u: list('u'), v: list('v'), front: list('front'), back: list('back') },
    coverage: list('coverage'),
    totalCoverage: pixels.reduce((sum, { coverage }) => sum + coverage, 0),
  };
  return { density, bounds, elevationRadians, seen };
}

/** The middle of a pixel in the frame. */
export const positionOf = (pixel: number): [u: number, v: number] => [
  ((pixel % seenSize) + 0.5) / toPixels - 1,
  (Math.floor(pixel / seenSize) + 0.5) / toPixels - 1,
];

/** The pixel at a position in the frame. */
export const pixelAt = (u: number, v: number): number => {
  const [column, row] = [u, v].map((at) => clamp(Math.floor((at + 1) * toPixels), 0, seenSize - 1));
  return row! * seenSize + column!;
};

/** The share of a pixel that an outline covers, at this distance inside it in frame units. */
export const coverageAt = (distance: number): number => clamp(0.5 + toPixels * distance, 0, 1);

/**
 * Parts stay that are at least `minPartPixels` outside the solid's outline. Nearer ones would only fray its edges. Each
 * part stays up to `jointPixels` inside, so that it is joined to the solid.
 */
const [minPartPixels, jointPixels] = [1.5, 1.5];

/**
 * The upper limit of a part's density, which is positive where the part stays.
 *
 * @param inPart how far inside the part's outline a position is, in pixels
 * @param inSolid how far inside the solid's outline it is
 */
export const jointAt = (inPart: number, inSolid: number): number =>
  1.5 * Math.min(inPart + minPartPixels + jointPixels, jointPixels - inSolid);

/**
 * Cuts a solid at the photo's outline, and joins it with the parts of the object that are outside of its own outline: feet,
 * handles, the stand of a monitor.
 *
 * @param solid in the space of `camera`
 * @param margin how far the solid may stand out of the photo's outline, in pixels of the network
 * @param insideSolid returns how far inside the solid's outline a position is, in units of the frame
 */
export function withParts(
  solid: Density,
  camera: Camera,
  margin: number,
  outline: Outline,
  { density, seen: { pixel, u, v, coverage } }: Front,
  insideSolid: (u: number, v: number) => number,
): Density {
  const mask = new Float32Array(seenSize * seenSize);
  pixel.forEach((number, i) => {
    if (coverage[i]! < 0.5 || toPixels * insideSolid(u[i]!, v[i]!) > -minPartPixels) return;
    mask[number] = 1;
  });
  const parts = mask.includes(1) ? signedDistance(mask, seenSize) : undefined;
  return (x, y, z) => {
    const k = 1 / frameScale(camera, z);
    const [u, v] = [x * k, -y * k];
    const own = Math.min(solid(x, y, z), margin + outline.densityAt(u, v));
    if (!parts) return clamp(own, -3, 3);
    const joint = jointAt(sampleSquare(parts, seenSize, u, v), toPixels * insideSolid(u, v));
    if (joint <= -3) return clamp(own, -3, 3);
    // The same pixel and depth, in the space of the outline's camera.
    const scale = frameScale(outline.camera, z);
    return clamp(Math.max(own, Math.min(density(u * scale, -v * scale, z), joint)), -3, 3);
  };
}
