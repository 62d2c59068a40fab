import { type Camera, frameScale } from '../../../base/camera.js';
import { type Front, type Outline, pixelAt, type Seen, seenSize } from '../solid.js';
import { atFront } from './fit.js';
import { hollowOf } from './hollow.js';
import { final, largestInside, type Resolution, searched, widened, withFlatEnds } from './inside-outline.js';
import type { Candidate } from './search-outline.js';
import { type Axis, directionsAround, type Hollow, pointsAround, type Turned } from './turned.js';

/** The minimum elevation, in radians, at which the network sees into a vessel. */
const minElevation = 0.4;

/** The minimum share of a vessel's outline that the largest solid inside its outline covers: 0.99 of the demo's cup. */
const minCoverage = 0.95;

/** The maximum `error` of a vessel: the demo's cup has 0.75; the only other candidate, an armchair, has 1.44. */
const maxError = 0.9;

/** The maximum share of each circle in front of the predicted front, to allow for handles, spoons and noise. */
const maxInFront = 0.25;

/** The minimum share of the wall's radius for which the outline has room up to the rim. No axis is exact. */
const minRim = 0.85;

/** The depth of the predicted front, as z in camera space, at a position in the frame; Infinity where there is none. */
type Depth = (u: number, v: number) => number;

/**
 * Finds an open vessel on something wider, seen from above, such as a cup on its saucer. The largest solid inside its
 * outline fills the space between the two, so the predicted front limits the radii as well.
 *
 * @param first the solid that fills the outline
 */
export function searchVessel(
  start: Axis,
  first: Candidate,
  outline: Outline,
  front: Front,
): { solid: Turned; hollow: Hollow } | undefined {
  if (!(first.fit.coverage >= minCoverage && start.tiltRadians >= minElevation)) return undefined;
  const depthAt = depthOf(front.seen);
  const turn = (axis: Axis, resolution: Resolution) => {
    const room = largestInside(axis, outline, front.bounds, resolution);
    const solid = { ...room, radii: radiiBehind(depthAt, room, outline.camera, resolution.directions) };
    return widened(withFlatEnds(solid, 'flat', outline, 1), outline);
  };
  let best: { solid: Turned; cost: number } | undefined;
  // The network underestimates how far the camera looks down on plates.
  for (const lift of [0, 0.1, 0.2, 0.3]) {
    const axis = { ...start, tiltRadians: start.tiltRadians + lift };
    const { solid, fit } = atFront(axis, 3, (at) => turn(at, searched), outline, front);
    const cost = fit.error - 3 * fit.coverage + 2 * lift ** 2;
    if (fit.error <= maxError && !(best && best.cost <= cost)) best = { solid, cost };
  }
  const hollow = best && hollowOf(best.solid, front.density);
  return hollow && { solid: turn(best!.solid, final), hollow };
}

/** Looks up the predicted front at the nearest pixel. */
function depthOf(seen: Seen): Depth {
  const depth = new Float32Array(seenSize * seenSize).fill(Infinity);
  seen.pixel.forEach((pixel, i) => {
    if (!Number.isNaN(seen.front[i]!)) depth[pixel] = seen.front[i]!;
  });
  return (u, v) => depth[pixelAt(u, v)]!;
}

/**
 * Narrows each row until most of its circle is behind the predicted front. Partway up a vessel, this leaves nothing,
 * because the front is inside the vessel from there on. The wall then keeps its radius for as long as the outline has
 * room for it.
 */
function radiiBehind(depthAt: Depth, room: Turned, camera: Camera, directions: number): Float32Array {
  const pointAt = pointsAround(room);
  const circle = directionsAround(directions);
  const greatest = Math.max(...room.radii);
  const radii = room.radii.map((max, row) => {
    const isInFront = (toward: number, side: number) => {
      const [x, y, z] = pointAt(row, toward, side);
      const k = 1 / frameScale(camera, z);
      return z > depthAt(x * k, -y * k);
    };
    for (let radius = max; radius > 0; radius -= greatest / 100) {
      const inFront = circle.filter(([toward, side]) => isInFront(radius * toward, radius * side)).length;
      if (inFront <= maxInFront * circle.length) return radius;
    }
    return 0;
  });
  const base = radii.indexOf(Math.max(...radii));
  const end = radii.findIndex((radius, row) => row > base + 2 && radius === 0);
  const wall = radii[end - 2] ?? 0;
  if (wall === 0) return radii;
  return radii.map((radius, row) => (row < end - 1 ? radius : room.radii[row]! >= minRim * wall ? wall : 0));
}
