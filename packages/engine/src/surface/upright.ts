import type { Elevation } from '../field/density-field.js';

const degree = Math.PI / 180;

/** The usual angle of photos of an object on a table. */
const usual: Elevation = { radians: 15 * degree, spreadRadians: 15 * degree };

/** Points this close to the lowest one, as a share of the model's size, touch the ground. */
const contactShare = 0.04;

/**
 * Estimates the angle at which the camera looked down on an object that stands on its base. That is the tilt at which
 * the contact with the ground spans most of the footprint, weighted by the likelihood of the angle.
 *
 * @param positions [3·V] in the camera's frame
 * @param expected the reconstructor's estimate
 * @returns radians, -5 to 45 degrees
 */
export function estimateElevation(positions: Float32Array, expected = usual): number {
  const { radians, spreadRadians } = expected;
  if (spreadRadians === 0) return radians;
  let best = { elevation: radians, score: 0 };
  for (let elevation = -5 * degree; elevation <= 45 * degree; elevation += 2.5 * degree) {
    const likelihood = Math.exp(-0.5 * ((elevation - radians) / spreadRadians) ** 2);
    const score = likelihood * footing(positions, elevation);
    if (score > best.score) best = { elevation, score };
  }
  return best.elevation;
}

/** The area spanned by the points on the ground / the area spanned by all points, seen from above. */
function footing(positions: Float32Array, elevation: number): number {
  const [sin, cos] = [Math.sin(elevation), Math.cos(elevation)];
  const count = positions.length / 3;
  const heights = new Float32Array(count);
  const ground: [number, number][] = [];
  let [lowest, highest] = [Infinity, -Infinity];
  for (let i = 0; i < count; i++) {
    const [x, y, z] = [positions[3 * i]!, positions[3 * i + 1]!, positions[3 * i + 2]!];
    heights[i] = cos * y + sin * z;
    lowest = Math.min(lowest, heights[i]!);
    highest = Math.max(highest, heights[i]!);
    ground.push([x, cos * z - sin * y]);
  }
  const reach = lowest + contactShare * (highest - lowest);
  return hullArea(ground.filter((_, i) => heights[i]! <= reach)) / hullArea(ground);
}

/** Area of the convex hull. @see Andrew, "Another Efficient Algorithm for Convex Hulls in Two Dimensions", 1979 */
function hullArea(points: readonly [number, number][]): number {
  const sorted = points.toSorted((a, b) => a[0] - b[0] || a[1] - b[1]);
  const lower = chain(sorted);
  const upper = chain(sorted.toReversed());
  const hull = [...lower.slice(0, -1), ...upper.slice(0, -1)];
  let doubled = 0;
  hull.forEach(([x, y], i) => {
    const [nextX, nextY] = hull[(i + 1) % hull.length]!;
    doubled += x * nextY - nextX * y;
  });
  return doubled / 2;
}

function chain(sorted: readonly [number, number][]): [number, number][] {
  const hull: [number, number][] = [];
  for (const point of sorted) {
    while (hull.length > 1 && turn(hull[hull.length - 2]!, hull[hull.length - 1]!, point) <= 0) hull.pop();
    hull.push(point);
  }
  return hull;
}

const turn = (o: readonly [number, number], a: readonly [number, number], b: readonly [number, number]) =>
  (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0]);
