import { boxAround, extentOf } from '../base/box.js';
import type { TexturedMesh } from '../base/mesh.js';
import { usualElevation } from '../field/density-field.js';

/** How the photo camera was turned relative to the ground, in radians. */
export interface Attitude {
  /** The angle at which the camera looked down on the object. */
  readonly elevation: number;
  /** The angle by which the object is turned counterclockwise in the photo. */
  readonly roll: number;
}

export interface Posed<M> {
  readonly model: M;
  /** Converts points [3·N] from the camera's frame to the model's. */
  readonly toModel: (points: Float32Array) => Float32Array;
}

/**
 * Rotates a model from the photo camera's frame into glTF's: Y up, the visible side towards +Z, standing on y = 0 and
 * centered in x and z. The longest side becomes one meter, since a photo does not tell the size.
 */
export function pose<M extends TexturedMesh>(mesh: M, { elevation, roll }: Attitude): Posed<M> {
  const upright = (vectors: Float32Array) => tilt(turnInPhoto(vectors, -roll), elevation);
  const positions = upright(mesh.positions);
  const box = boxAround(positions);
  const { min, max } = box;
  const maxSide = extentOf(box);
  const origin = [(min[0] + max[0]) / 2, min[1], (min[2] + max[2]) / 2];
  const moveAndScale = (points: Float32Array) => points.map((value, i) => (value - origin[i % 3]!) / maxSide);
  return {
    model: { ...mesh, positions: moveAndScale(positions), normals: upright(mesh.normals) },
    toModel: (points) => moveAndScale(upright(points)),
  };
}

/** Rotates about Z: counterclockwise in the photo. */
function turnInPhoto(vectors: Float32Array, radians: number): Float32Array {
  const [sin, cos] = [Math.sin(radians), Math.cos(radians)];
  const turned = vectors.slice();
  for (let i = 0; i < turned.length; i += 3) {
    const [x, y] = [vectors[i]!, vectors[i + 1]!];
    turned[i] = cos * x - sin * y;
    turned[i + 1] = sin * x + cos * y;
  }
  return turned;
}

/** Rotates about X by minus the elevation: in the view of a camera that looks down, the top leans towards it. */
export function tilt(vectors: Float32Array, elevationRadians: number): Float32Array {
  const [sin, cos] = [Math.sin(elevationRadians), Math.cos(elevationRadians)];
  const tilted = vectors.slice();
  for (let i = 0; i < tilted.length; i += 3) {
    const [y, z] = [vectors[i + 1]!, vectors[i + 2]!];
    tilted[i + 1] = cos * y + sin * z;
    tilted[i + 2] = cos * z - sin * y;
  }
  return tilted;
}

const degree = Math.PI / 180;

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
export function estimateElevation(positions: Float32Array, expected = usualElevation): number {
  const { radians, spreadRadians } = expected;
  if (spreadRadians === 0) return radians;
  const sorted = sortedByX(positions);
  let best = { elevation: radians, score: 0 };
  for (let elevation = -5 * degree; elevation <= 45 * degree; elevation += 2.5 * degree) {
    const likelihood = Math.exp(-0.5 * ((elevation - radians) / spreadRadians) ** 2);
    const score = likelihood * footing(tilt(sorted, elevation));
    if (score > best.score) best = { elevation, score };
  }
  return best.elevation;
}

/** Sorts points by x, which tilting does not change, so this order serves the hulls of every tilt. */
function sortedByX(positions: Float32Array): Float32Array {
  const order = Uint32Array.from({ length: positions.length / 3 }, (_, vertex) => 3 * vertex);
  order.sort((a, b) => positions[a]! - positions[b]!);
  const sorted = new Float32Array(positions.length);
  order.forEach((from, vertex) => {
    for (let axis = 0; axis < 3; axis++) sorted[3 * vertex + axis] = positions[from + axis]!;
  });
  return sorted;
}

/** Divides the area spanned by the points on the ground by the area spanned by all points, as seen from above. */
function footing(points: Float32Array): number {
  let [lowest, highest] = [Infinity, -Infinity];
  for (let i = 1; i < points.length; i += 3) {
    lowest = Math.min(lowest, points[i]!);
    highest = Math.max(highest, points[i]!);
  }
  const reach = lowest + contactShare * (highest - lowest);
  return hullArea(points, reach) / hullArea(points, Infinity);
}

/**
 * Computes the area of the convex hull, in x and z, of the points with y <= `maxHeight`.
 *
 * @param points [3·N] in ascending order of x
 * @see Andrew, "Another Efficient Algorithm for Convex Hulls in Two Dimensions", 1979
 */
const hullArea = (points: Float32Array, maxHeight: number): number =>
  areaBelow(points, maxHeight, 1) + areaBelow(points, maxHeight, -1);

/** Computes the area between the x axis and the hull's chain that is farthest in the direction of z times `sign`. */
function areaBelow(points: Float32Array, maxHeight: number, sign: 1 | -1): number {
  // Corners of the chain: x and z of each.
  const chain = new Float64Array((2 * points.length) / 3);
  let end = 0;
  for (let i = 0; i < points.length; i += 3) {
    if (points[i + 1]! > maxHeight) continue;
    const x = points[i]!;
    const z = sign * points[i + 2]!;
    // Of several points with the same x, the farthest counts.
    if (end > 0 && chain[end - 2] === x) {
      if (chain[end - 1]! >= z) continue;
      end -= 2;
    }
    while (end > 2 && turn(chain, end, x, z) >= 0) end -= 2;
    chain[end] = x;
    chain[end + 1] = z;
    end += 2;
  }
  let doubled = 0;
  for (let i = 2; i < end; i += 2) doubled += (chain[i]! - chain[i - 2]!) * (chain[i + 1]! + chain[i - 1]!);
  return doubled / 2;
}

/** Returns a positive number if the path along the last two corners of the chain to the point turns left. */
function turn(chain: Float64Array, end: number, x: number, z: number): number {
  const [fromX, fromZ] = [chain[end - 4]!, chain[end - 3]!];
  return (chain[end - 2]! - fromX) * (z - fromZ) - (chain[end - 1]! - fromZ) * (x - fromX);
}
