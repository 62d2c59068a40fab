import { median } from '../../../base/averages.js';
import type { Box } from '../../../base/box.js';
import { frameScale } from '../../../base/camera.js';
import type { Outline } from '../solid.js';
import { type Axis, directionsAround, endsOf, type PointAt, pointsAround, type Turned } from './turned.js';

/** How closely radii are found: rows along the axis, and directions at which each is compared with the outline. */
export interface Resolution {
  readonly rows: number;
  readonly directions: number;
}
export const searched: Resolution = { rows: 48, directions: 10 };
export const final: Resolution = { rows: 120, directions: 32 };

/** The shape of the upper end, which the photo shows: flat like a lid, or pointed like a dome. */
export type Top = 'flat' | 'pointed';

/** How far a flat end may be from the outline, in units of the frame. */
const endTolerance = 0.012;

/** How far the outline may be beyond the solid at one side, in units of the frame. Farther away, it is a handle's. */
const sideTolerance = 0.06;

/** Makes the largest solid around an axis whose outline is inside the photo's. Both ends are as pointed as it allows. */
export function largestInside(axis: Axis, outline: Outline, bounds: Box, { rows, directions }: Resolution): Turned {
  const cos = Math.cos(axis.tiltRadians);
  const [low, high] = [bounds.min[1] / cos - 0.1, bounds.max[1] / cos + 0.1];
  const solid = { ...axis, low, rowHeight: (high - low) / rows, radii: new Float32Array(rows) };
  const roomAt = roomAround(solid, outline);
  const circle = directionsAround(directions);
  const reach = Math.max(bounds.max[0] - axis.x, axis.x - bounds.min[0]);
  const radii = solid.radii.map((_, row) => {
    const fits = (radius: number) => circle.every(([toward, side]) => roomAt(row, radius * toward, radius * side) >= 0);
    if (!fits(0)) return 0;
    let step = reach / 24;
    let radius = 0;
    while (radius < reach && fits(radius + step)) radius += step;
    for (let i = 0; i < 6; i++) {
      step /= 2;
      if (fits(radius + step)) radius += step;
    }
    return radius;
  });
  return { ...solid, radii };
}

/**
 * Cuts off what is beyond a flat base, and beyond a flat top. The base is always flat: the photo does not show it, and
 * most objects stand on one.
 *
 * @param maxBase the highest base, as a share of the solid's height
 */
export function withFlatEnds(solid: Turned, top: Top, outline: Outline, maxBase = 0.5): Turned {
  const { radii } = solid;
  const roomAt = roomAround(solid, outline);
  const [first, last] = endsOf(radii);
  const rowAt = (share: number) => first + share * (last - first);
  let [base, lid] = [first, last];
  for (let row = first; row <= rowAt(maxBase); row++) if (roomAt(row, radii[row]!, 0) < endTolerance) base = row;
  if (top === 'flat') {
    for (let row = last; row >= rowAt(0.5); row--) if (roomAt(row, -radii[row]!, 0) < endTolerance) lid = row;
  }
  return { ...solid, radii: radii.map((radius, row) => (row < base || row > lid ? 0 : radius)) };
}

/**
 * Widens a solid to the outline. The axis is never exactly in the middle, so the solid touches the outline at one side:
 * the mean of both sides is right. It cannot be seen where there is a handle: there, the median of the other rows counts.
 */
export function widened(solid: Turned, outline: Outline): Turned {
  const [roomAt, pointAt] = [roomAround(solid, outline), pointsAround(solid)];
  const gaps = Array.from(solid.radii, (radius, row) => {
    if (radius === 0) return NaN;
    const [left, right] = [Math.max(0, roomAt(row, 0, -radius)), Math.max(0, roomAt(row, 0, radius))];
    const scale = frameScale(outline.camera, pointAt(row, 0, 0)[2]);
    return Math.max(left, right) > sideTolerance ? NaN : ((left + right) / 2) * scale;
  });
  const usual = median(gaps.filter((gap) => !Number.isNaN(gap)));
  const radii = solid.radii.map((radius, row) => radius && radius + (Number.isNaN(gaps[row]!) ? usual : gaps[row]!));
  return { ...solid, radii };
}

/** Returns how far inside the outline a point around the axis is, in units of the frame. */
function roomAround(solid: Turned, { camera, distanceInside }: Outline): (...point: Parameters<PointAt>) => number {
  const pointAt = pointsAround(solid);
  return (row, toward, side) => {
    const [x, y, z] = pointAt(row, toward, side);
    const k = 1 / frameScale(camera, z);
    return distanceInside(x * k, -y * k);
  };
}
