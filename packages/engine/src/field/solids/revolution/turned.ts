import type { Box } from '../../../base/box.js';
import type { Camera } from '../../../base/camera.js';
import { clamp, sampleBilinear, sampleSquare } from '../../../base/interpolation.js';
import { signedDistance } from '../../distance-transform.js';
import { type Density, toPixels } from '../solid.js';

/**
 * An axis of revolution in the space of an upright camera: it crosses the plane y = 0 at (x, z), and its upper end
 * leans toward the camera. The photo's camera is turned from there about its view axis.
 */
export interface Axis {
  readonly x: number;
  readonly z: number;
  readonly tiltRadians: number;
  /** The angle by which the object is turned counterclockwise in the photo. */
  readonly rollRadians: number;
}

/** A solid of revolution: radii at even steps along its axis, 0 beyond its ends. */
export interface Turned extends Axis {
  /** Along the axis, from its point in the plane y = 0. */
  readonly low: number;
  readonly rowHeight: number;
  readonly radii: Float32Array;
}

/** The inside of a hollow solid, in units of camera space. */
export interface Hollow {
  readonly wall: number;
  /** Along the axis, like `Turned.low`. If the photo does not show the floor, it is the base of the solid. */
  readonly floor: number;
}

/** Solids are this much wider than deep, and then cut at the outline, so that they leave none of it empty. */
const flattening = 0.98;

/** Returns a point in camera space: beside the middle of a row, `toward` the camera and to the `side` of the axis. */
export type PointAt = (row: number, toward: number, side: number) => readonly [x: number, y: number, z: number];

export function pointsAround({ x, z, tiltRadians, rollRadians, low, rowHeight }: Turned): PointAt {
  const [cos, sin] = [Math.cos(tiltRadians), Math.sin(tiltRadians)];
  const [cosRoll, sinRoll] = [Math.cos(rollRadians), Math.sin(rollRadians)];
  return (row, toward, side) => {
    const along = low + (row + 0.5) * rowHeight;
    const [right, up] = [x + side, along * cos - toward * sin];
    return [right * cosRoll - up * sinRoll, right * sinRoll + up * cosRoll, z + along * sin + toward * cos];
  };
}

/** Inverts `pointsAround`: returns how far a point in camera space is along the axis, toward the camera and aside. */
export function fromAxis({ x: axisX, z: axisZ, tiltRadians, rollRadians }: Axis) {
  const [cos, sin] = [Math.cos(tiltRadians), Math.sin(tiltRadians)];
  const [cosRoll, sinRoll] = [Math.cos(rollRadians), Math.sin(rollRadians)];
  return (x: number, y: number, z: number): readonly [along: number, toward: number, side: number] => {
    const [right, up] = [x * cosRoll + y * sinRoll, y * cosRoll - x * sinRoll];
    return [up * cos + (z - axisZ) * sin, (z - axisZ) * cos - up * sin, right - axisX];
  };
}

/** Returns unit vectors in evenly spaced directions around an axis. */
export const directionsAround = (count: number): (readonly [toward: number, side: number])[] =>
  Array.from({ length: count }, (_, i) => {
    const angle = ((i + 0.5) / count) * 2 * Math.PI;
    return [Math.cos(angle), Math.sin(angle)];
  });

/** Finds the first and the last row of a solid. */
export const endsOf = (radii: Float32Array): [first: number, last: number] => [
  radii.findIndex((radius) => radius > 0),
  radii.findLastIndex((radius) => radius > 0),
];

/** Computes a box around a solid, with room for its rounding. */
export function boundsOf({ x, z, tiltRadians, rollRadians, low, rowHeight, radii }: Turned): Box {
  const [cos, sin] = [Math.cos(tiltRadians), Math.sin(tiltRadians)];
  const [first, last] = endsOf(radii);
  const [bottom, top] = [low + first * rowHeight, low + (last + 1) * rowHeight];
  const radius = Math.max(...radii) + 0.05;
  const [left, right] = [x - radius / flattening, x + radius / flattening];
  const [lower, upper] = [bottom * cos - radius * sin - 0.05, top * cos + radius * sin + 0.05];
  const roll = Math.sin(rollRadians);
  const [above, below] = [Math.max(-upper * roll, -lower * roll), Math.min(-upper * roll, -lower * roll)];
  const [east, west] = [Math.max(left * roll, right * roll), Math.min(left * roll, right * roll)];
  return {
    min: [left + below, lower + west, z + bottom * sin - radius],
    max: [right + above, upper + east, z + top * sin + radius],
  };
}

/**
 * Makes a density of a solid, as steep as the outline's.
 *
 * @param hollow undefined: the solid is full
 */
export function densityOf(solid: Turned, hollow: Hollow | undefined, camera: Camera): Density {
  const { low } = solid;
  const place = fromAxis(solid);
  const { distances, cells, cell } = crossSection(solid, hollow);
  // One logit per pixel, as in the outline.
  const slope = (cell * toPixels) / (camera.distance * camera.halfTangent);
  return (x, y, z) => {
    const [along, toward, side] = place(x, y, z);
    const radius = Math.hypot(toward, side * flattening);
    return slope * sampleSquare(distances, cells, (2 * radius) / cell / cells, (2 * (along - low)) / cell / cells - 1);
  };
}

/**
 * Cuts a solid through its axis, which is the middle column. Returns how far inside each cell is [cells·cells], in cells,
 * rows from `low` upward.
 */
function crossSection(solid: Turned, hollow: Hollow | undefined) {
  const { low, rowHeight } = solid;
  const radii = smoothed(smoothed(smoothed(solid.radii)));
  const [first, last] = endsOf(radii);
  const [bottom, top] = [low + first * rowHeight, low + (last + 1) * rowHeight];
  const radiusAt = (along: number) => {
    const row = clamp((along - low) / rowHeight - 0.5, first, last);
    return along < bottom || along > top ? 0 : sampleBilinear(radii, radii.length, 1, row, 0);
  };
  const cells = 128;
  const cell = Math.max(rowHeight * radii.length, 2 * Math.max(...radii) + 8 * rowHeight) / cells;
  const thickness = Math.max(hollow?.wall ?? 0, 2 * cell);
  const floor = Math.max(hollow?.floor ?? top, bottom + thickness);
  const coverage = Float32Array.from({ length: cells * cells }, (_, i) => {
    const along = low + (Math.floor(i / cells) + 0.5) * cell;
    const radius = Math.abs((i % cells) + 0.5 - cells / 2) * cell;
    const full = clamp((radiusAt(along) - radius) / cell + 0.5, 0, 1);
    if (along < floor) return full;
    const around = [along - thickness, along, Math.min(along + thickness, top)].map(radiusAt);
    return Math.min(full, clamp((radius - Math.min(...around) + thickness) / cell + 0.5, 0, 1));
  });
  return { distances: signedDistance(coverage, cells), cells, cell };
}

/** Evens out the steps of the outline's pixels, but not the ends. */
const smoothed = (radii: Float32Array): Float32Array =>
  radii.map((radius, row) => radius && ((radii[row - 1] || radius) + 2 * radius + (radii[row + 1] || radius)) / 4);
