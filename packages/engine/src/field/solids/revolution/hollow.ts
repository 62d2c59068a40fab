import { median } from '../../../base/averages.js';
import { clamp } from '../../../base/interpolation.js';
import type { Density } from '../solid.js';
import { endsOf, type Hollow, pointsAround, type Turned } from './turned.js';

/** The wall of a hollow solid is at least this thick, in shares of the greatest radius of its upper part. */
const minWall = 0.1;

/** The wall is at most this thick, in shares of the same radius. */
const maxWall = 0.3;

/** The minimum share of the radius that is empty in a hollow solid. */
const minEmpty = 0.4;

/**
 * Finds how hollow the prediction is: where rays from the axis leave its empty inside. Returns undefined for solid
 * objects, for domes, below which a prediction may be empty, and for narrow necks and columns, because the photo does
 * not show their inside and the prediction may miss the axis.
 */
export function hollowOf(solid: Turned, density: Density): Hollow | undefined {
  const { tiltRadians, low, rowHeight, radii } = solid;
  const [first, last] = endsOf(radii);
  const rowAt = (share: number) => Math.round(first + share * (last - first));
  const [from, to] = [rowAt(0.6), rowAt(0.9)];
  if (median([...radii.slice(from, to)]) < Math.max(...radii) / 2) return undefined;
  const pointAt = pointsAround(solid);
  const isFull = (row: number, toward: number, side: number) => density(...pointAt(row, toward, side)) > 0;
  // An open vessel has nothing above its inside. A bun does, even if the network leaves its inside empty.
  const covered = directions.filter(([toward, side]) => {
    for (let row = to; row <= last + 2; row++) {
      if (isFull(row, 0.3 * radii[to]! * toward, 0.3 * radii[to]! * side)) return true;
    }
    return false;
  });
  if (covered.length > directions.length / 2) return undefined;
  const reached: number[] = [];
  for (let row = from; row < to; row++) {
    for (const [toward, side] of directions) {
      let share = 0;
      while (share < 1 && !isFull(row, share * radii[row]! * toward, share * radii[row]! * side)) share += 0.05;
      reached.push(share);
    }
  }
  // The far side of the prediction is often too thick.
  const empty = reached.sort((a, b) => a - b)[Math.floor(0.75 * reached.length)] ?? 0;
  if (empty < minEmpty) return undefined;
  const radius = Math.max(...radii.slice(from));
  const wall = clamp(1 - empty, minWall, maxWall) * radius;
  let floor = to;
  while (floor > first && !isFull(floor, 0, 0)) floor--;
  // Where the photo does not show the floor, the predicted one is too high.
  const isSeen = (last - floor) * rowHeight * Math.cos(tiltRadians) < (radius - wall) * Math.sin(tiltRadians);
  return { wall, floor: low + (isSeen ? floor + 1 : first) * rowHeight };
}

/** Directions around the axis. The first is toward the camera. */
const directions = Array.from({ length: 16 }, (_, i): [toward: number, side: number] => [
  Math.cos((i * Math.PI) / 8),
  Math.sin((i * Math.PI) / 8),
]);
