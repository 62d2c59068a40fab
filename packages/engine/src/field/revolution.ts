import type { Box } from '../base/box.js';
import type { Camera } from '../base/camera.js';
import { clamp, sampleBilinear, sampleSquare } from '../base/interpolation.js';

/** A density at a point in the photo camera's space, positive inside. */
export type Density = (x: number, y: number, z: number) => number;

/** An axis of revolution: it crosses the plane y = 0 at (x, z), and its upper end leans toward the camera. */
interface Axis {
  readonly x: number;
  readonly z: number;
  readonly tiltRadians: number;
}

/** Samples of half a plane that the axis bounds: `rows` along the axis, `columns` away from it, in row order. */
interface Grid {
  readonly rows: number;
  readonly columns: number;
}

const degree = Math.PI / 180;

/** Half planes of the visible side, as angles around the axis from the direction toward the camera. */
const visibleAngles = [0, -35, 35, -65, 65].map((angle) => angle * degree);
/** The outline bounds the object in these half planes. There may be a handle at one side. */
const sideAngles = [-88 * degree, 88 * degree] as const;

/**
 * Minimum overlap of the half planes with their mean, on average and of the worst visible one. On the validation set,
 * bottles, cups and cans have at least 0.93 and 0.85. With earlier weights, a crate had 0.93 and 0.82.
 */
const [minAgreement, minVisibleOverlap] = [0.92, 0.84];
/** A solid that covers less of the outline is a part of the object. */
const minCoverage = 0.6;
/** Over these angles around the axis, the mean of the half planes replaces the field. The visible side stays. */
const [hiddenFrom, hiddenTo] = [85 * degree, 115 * degree];
/** Densities beyond this do not help to find the surface. */
const maxDensity = 1.5;

const searchGrid: Grid = { rows: 40, columns: 21 };
const profileGrid: Grid = { rows: 96, columns: 72 };

/** Pixels per side of the solid's outline. */
const outlineSize = 96;

/** The photo as its camera sees it. */
export interface View {
  readonly camera: Camera;
  /** Returns the density of the outline alone, at a position from -1 (left or top edge of the frame) to 1. */
  readonly outline: (u: number, v: number) => number;
  /** How far inside the outline a position is, in the same units; negative outside. */
  readonly distanceInside: (u: number, v: number) => number;
  /** Area of the matte in the plane z = 0, in squared units of camera space. */
  readonly area: number;
}

/**
 * Completes the far side of an upright solid of revolution, such as a bottle, a vase or a lamp, from the side that the
 * photo shows. Returns other densities unchanged.
 *
 * The network's far side of such an object is lumpy, but its visible side is nearly round. The density is sampled in
 * half planes around a common axis, which is searched for first. If they agree, their mean replaces the density on the
 * far side, wherever it is behind the solid in the photo. Handles and spouts stay. On the bottles of the validation
 * set, this lowers the Chamfer distance from 0.028 to 0.020. The search takes 20 to 40 ms, the completion as much again.
 *
 * @param bounds the density is negative outside
 * @param elevationRadians by which the camera looked down, as the network estimates
 */
export function completeRevolution(density: Density, view: View, bounds: Box, elevationRadians: number): Density {
  const axis = findAxis(density, view, bounds, elevationRadians);
  if (axis === undefined) return density;
  const visible = visibleAngles.map((angle) => slice(density, bounds, axis, angle, profileGrid));
  const consensus = mean(visible);
  const sides = sideAngles
    .map((angle) => slice(density, bounds, axis, angle, profileGrid))
    .filter((side) => overlap(side, consensus, profileGrid) > minAgreement);
  const solid = revolve(mean([...visible, ...sides]), axis, bounds);
  const covered = outlineOf(solid, view.camera, bounds);
  const [cos, sin] = [Math.cos(axis.tiltRadians), Math.sin(axis.tiltRadians)];
  return (x, y, z) => {
    const own = density(x, y, z);
    const toward = (z - axis.z) * cos - y * sin;
    const angle = Math.atan2(Math.abs(x - axis.x), toward);
    if (angle <= hiddenFrom) return own;
    const scale = 1 / ((view.camera.distance - z) * view.camera.halfTangent);
    const [u, v] = [x * scale, -y * scale];
    const behind = clamp(0.5 + sampleSquare(covered, outlineSize, u, v), 0, 1);
    const share = behind * clamp((angle - hiddenFrom) / (hiddenTo - hiddenFrom), 0, 1);
    return Math.min(own + (solid(x, y, z) - own) * share, Math.max(view.outline(u, v), own));
  };
}

/** Makes the solid of revolution with this profile. */
function revolve(profile: Float32Array, axis: Axis, bounds: Box): Density {
  const { rows, columns } = profileGrid;
  const { reach, low, high } = extentAround(axis, bounds);
  const [cos, sin] = [Math.cos(axis.tiltRadians), Math.sin(axis.tiltRadians)];
  return (x, y, z) => {
    const toward = (z - axis.z) * cos - y * sin;
    const along = y * cos + (z - axis.z) * sin;
    const column = (Math.hypot(toward, x - axis.x) / reach) * columns - 0.5;
    const row = ((along - low) / (high - low)) * rows - 0.5;
    return sampleBilinear(profile, columns, rows, column, row);
  };
}

/** Finds the highest density along the ray of each pixel, [outlineSize·outlineSize]. */
function outlineOf(solid: Density, { distance, halfTangent }: Camera, { min, max }: Box): Float32Array {
  const samples = 64;
  return Float32Array.from({ length: outlineSize * outlineSize }, (_, pixel) => {
    const u = (((pixel % outlineSize) + 0.5) / outlineSize) * 2 - 1;
    const v = ((Math.floor(pixel / outlineSize) + 0.5) / outlineSize) * 2 - 1;
    let highest = -maxDensity;
    for (let i = 0; i < samples; i++) {
      const z = min[2] + ((i + 0.5) / samples) * (max[2] - min[2]);
      const scale = (distance - z) * halfTangent;
      highest = Math.max(highest, solid(u * scale, -v * scale, z));
    }
    return highest;
  });
}

/** Finds the axis around which the half planes agree best, if they agree well enough. */
function findAxis(density: Density, view: View, bounds: Box, elevationRadians: number): Axis | undefined {
  const x = (bounds.min[0] + bounds.max[0]) / 2;
  const depth = bounds.max[2] - bounds.min[2];
  let best: Axis = { x, z: (bounds.min[2] + bounds.max[2]) / 2, tiltRadians: elevationRadians };
  let agreement = 0;
  const attempt = (axis: Axis) => {
    const found = agreementAround(axis, density, view, bounds);
    if (found > agreement) [best, agreement] = [axis, found];
  };
  for (let i = 1; i < 12; i++) attempt({ ...best, z: bounds.min[2] + (depth * i) / 12 });
  let step = { x: depth / 12, z: depth / 24, tiltRadians: 8 * degree };
  for (let round = 0; round < 3; round++) {
    for (const key of ['x', 'z', 'tiltRadians', 'z'] as const) {
      const middle = best;
      for (const sign of [-1, 1]) attempt({ ...middle, [key]: middle[key] + sign * step[key] });
    }
    step = { x: step.x / 2, z: step.z / 2, tiltRadians: step.tiltRadians / 2 };
  }
  return agreement > minAgreement ? best : undefined;
}

/** Computes the mean overlap of the half planes with their mean, 0 to 1. Of the two sides, only the better counts. */
function agreementAround(axis: Axis, density: Density, view: View, bounds: Box): number {
  const visible = visibleAngles.map((angle) => slice(density, bounds, axis, angle, searchGrid));
  const consensus = mean(visible);
  if (areaFromCamera(consensus, axis, bounds) < minCoverage * view.area) return 0;
  const overlaps = visible.map((values) => overlap(values, consensus, searchGrid));
  if (Math.min(...overlaps) < minVisibleOverlap) return 0;
  const sides = sideAngles.map((angle) =>
    overlap(slice(density, bounds, axis, angle, searchGrid), consensus, searchGrid),
  );
  overlaps.push(Math.max(...sides));
  return overlaps.reduce((sum, value) => sum + value, 0) / overlaps.length;
}

/** Computes how far half planes reach from the axis, and from where to where along it. */
function extentAround(axis: Axis, bounds: Box): { reach: number; low: number; high: number } {
  const cos = Math.cos(axis.tiltRadians);
  // Depth is less certain than the outline, so slices reach beyond it.
  const reach = 1.5 * Math.max(bounds.max[0] - axis.x, axis.x - bounds.min[0]);
  return { reach, low: bounds.min[1] / cos, high: bounds.max[1] / cos };
}

/** Densities [rows·columns] in the half plane at this angle around the axis. */
function slice(density: Density, bounds: Box, axis: Axis, angle: number, { rows, columns }: Grid): Float32Array {
  const { reach, low, high } = extentAround(axis, bounds);
  const [cos, sin] = [Math.cos(axis.tiltRadians), Math.sin(axis.tiltRadians)];
  const values = new Float32Array(rows * columns);
  for (let i = 0; i < values.length; i++) {
    const along = low + ((Math.floor(i / columns) + 0.5) / rows) * (high - low);
    const radius = (((i % columns) + 0.5) / columns) * reach;
    const toward = radius * Math.cos(angle);
    const x = axis.x + radius * Math.sin(angle);
    const value = density(x, along * cos - toward * sin, axis.z + along * sin + toward * cos);
    values[i] = clamp(value, -maxDensity, maxDensity);
  }
  return values;
}

/** Computes the intersection over union of the solids of revolution that two slices bound. Cavities are filled. */
function overlap(a: Float32Array, b: Float32Array, { columns }: Grid): number {
  let [both, either] = [0, 0];
  for (let row = 0; row < a.length; row += columns) {
    const radii = [outerRadius(a, row, columns), outerRadius(b, row, columns)];
    both += Math.min(...radii) ** 2;
    either += Math.max(...radii) ** 2;
  }
  return either === 0 ? 0 : both / either;
}

/** Computes the area that a solid of revolution covers in the plane z = 0, in squared units of camera space. */
function areaFromCamera(slice: Float32Array, axis: Axis, bounds: Box): number {
  const { rows, columns } = searchGrid;
  const { reach, low, high } = extentAround(axis, bounds);
  let radii = 0;
  for (let row = 0; row < slice.length; row += columns) radii += outerRadius(slice, row, columns);
  return 2 * radii * (reach / columns) * ((high - low) / rows) * Math.cos(axis.tiltRadians);
}

/** Finds the largest radius at which the row that starts at `row` leaves the solid, in columns. */
function outerRadius(slice: Float32Array, row: number, columns: number): number {
  let last = columns - 1;
  while (last >= 0 && slice[row + last]! <= 0) last--;
  if (last < 0) return 0;
  const inside = slice[row + last]!;
  const outside = last + 1 < columns ? slice[row + last + 1]! : -maxDensity;
  return last + 0.5 + inside / (inside - outside);
}

const mean = (slices: readonly Float32Array[]): Float32Array =>
  slices[0]!.map((_, i) => slices.reduce((sum, values) => sum + values[i]!, 0) / slices.length);
