import { KdTree } from './kd-tree.mjs';

const yaws = range(0, 345, 15);
const tilts = [-20, 0, 20];
const searchPoints = 256;
const starts = 6;
const coarse = { points: 1024, rounds: 12 };
const fine = { points: 4096, rounds: 24 };

/** @typedef {[number, number, number]} Vector */
/** @typedef {{ rotation: number[], scale: number, shift: Vector }} Similarity scale · rotation (by rows) · point + shift */
/** @typedef {{ model: Float32Array, truth: Float32Array }} Points [3·N] each */
/** @typedef {Points & { modelTree: KdTree, truthTree: KdTree }} SearchablePoints */

/**
 * Aligns a model with the truth as the TripoSR report does: scales both to [-1, 1], tries a grid of rotations (all yaws,
 * tilted by up to 20 degrees) and refines the best by iterative closest points (ICP).
 *
 * A photo shows neither size nor distance, so ICP may scale as well as move and rotate. It pairs points in both
 * directions: from one side only, shrinking the model would always lower the distance.
 *
 * @param {Float32Array} model [3·N] spread evenly over the model, Y up
 * @param {Float32Array} truth [3·N] spread evenly over the object, Y up, in [-1, 1]
 * @returns {{ aligned: Float32Array, similarity: Similarity }} the model's points where they fit best, and the
 *   transformation that moved them there
 * @see Tochilkin et al., "TripoSR: Fast 3D Object Reconstruction from a Single Image", 2024, section 3
 * @see Besl and McKay, "A Method for Registration of 3-D Shapes", 1992
 */
export function align(model, truth) {
  const few = { model: thin(model, searchPoints), truth: thin(truth, searchPoints) };
  const some = searchable(thin(model, coarse.points), thin(truth, coarse.points));
  const candidates = [];
  for (const tilt of tilts) {
    for (const yaw of yaws) {
      const similarity = normalizing(some.model, rotationOf(yaw, tilt));
      candidates.push({ similarity, chamfer: chamferOf(similarity, few, some) });
    }
  }
  candidates.sort((a, b) => a.chamfer - b.chamfer);
  const refined = candidates.slice(0, starts).map(({ similarity }) => iterate(similarity, some, coarse.rounds));
  refined.sort((a, b) => a.chamfer - b.chamfer);
  const many = searchable(thin(model, fine.points), thin(truth, fine.points));
  const { similarity } = iterate(refined[0].similarity, many, fine.rounds);
  return { aligned: apply(similarity, model), similarity };
}

/** @type {(model: Float32Array, truth: Float32Array) => SearchablePoints} */
function searchable(model, truth) {
  return { model, truth, modelTree: new KdTree(model), truthTree: new KdTree(truth) };
}

/**
 * Iterates closest points from `start`.
 *
 * @param {Similarity} start
 * @param {SearchablePoints} points
 * @param {number} rounds
 * @returns the similarity with the lowest Chamfer distance of all rounds
 */
function iterate(start, points, rounds) {
  let best = { similarity: start, chamfer: Infinity };
  let current = start;
  for (let round = 0; round <= rounds; round++) {
    const { sources, targets, chamfer } = closestPairs(current, points, points);
    if (chamfer < best.chamfer) best = { similarity: current, chamfer };
    if (round < rounds) current = closestSimilarity(sources, targets);
  }
  return best;
}

/** @type {(similarity: Similarity, queries: Points, trees: SearchablePoints) => number} */
const chamferOf = (similarity, queries, trees) => closestPairs(similarity, queries, trees).chamfer;

/**
 * Pairs model points with their nearest truth points, and the reverse, after moving the model.
 *
 * @param {Similarity} similarity
 * @param {Points} queries
 * @param {SearchablePoints} trees
 */
function closestPairs(similarity, { model, truth }, trees) {
  const toTruth = trees.truthTree.nearest(apply(similarity, model));
  const toModel = trees.modelTree.nearest(apply(inverse(similarity), truth));
  const count = (model.length + truth.length) / 3;
  const sources = new Float32Array(3 * count);
  const targets = new Float32Array(3 * count);
  sources.set(model);
  targets.set(gather(trees.truth, toTruth.ids));
  sources.set(gather(trees.model, toModel.ids), model.length);
  targets.set(truth, model.length);
  const chamfer = (mean(toTruth.distances) + mean(toModel.distances) * similarity.scale) / 2;
  return { sources, targets, chamfer };
}

/**
 * The similarity that moves `sources` [3·N] closest to `targets` [3·N], in least squares.
 *
 * @param {Float32Array} sources
 * @param {Float32Array} targets
 * @returns {Similarity}
 * @see Horn, "Closed-form solution of absolute orientation using unit quaternions", 1987
 */
function closestSimilarity(sources, targets) {
  const [from, to] = [meanOf(sources), meanOf(targets)];
  const s = new Float64Array(9);
  let [spreadFrom, spreadTo] = [0, 0];
  for (let i = 0; i < sources.length; i += 3) {
    for (let a = 0; a < 3; a++) {
      const p = sources[i + a] - from[a];
      spreadFrom += p * p;
      spreadTo += (targets[i + a] - to[a]) ** 2;
      for (let b = 0; b < 3; b++) s[3 * a + b] += p * (targets[i + b] - to[b]);
    }
  }
  const [xx, xy, xz, yx, yy, yz, zx, zy, zz] = s;
  // biome-ignore format: a matrix reads by its rows
  const quaternion = largestEigenvector([
    xx + yy + zz, yz - zy, zx - xz, xy - yx,
    yz - zy, xx - yy - zz, xy + yx, zx + xz,
    zx - xz, xy + yx, yy - xx - zz, yz + zy,
    xy - yx, zx + xz, yz + zy, zz - xx - yy,
  ]);
  const rotation = rotationOfQuaternion(quaternion);
  // Horn's symmetric scale, which does not depend on the direction.
  const scale = Math.sqrt(spreadTo / spreadFrom);
  const rotated = multiply(rotation, from);
  return { rotation, scale, shift: mapVector(to, (value, axis) => value - scale * rotated[axis]) };
}

/**
 * The eigenvector of the largest eigenvalue of a symmetric 4 × 4 matrix, by power iteration. The shift makes that
 * eigenvalue also the largest in magnitude.
 *
 * @param {number[]} matrix
 */
function largestEigenvector(matrix) {
  const shift = Math.max(
    ...[0, 1, 2, 3].map((row) => [0, 1, 2, 3].reduce((sum, c) => sum + Math.abs(matrix[4 * row + c]), 0)),
  );
  let vector = [1, 0.01, 0.02, 0.03];
  for (let round = 0; round < 200; round++) {
    const next = [0, 1, 2, 3].map((row) =>
      [0, 1, 2, 3].reduce((sum, c) => sum + matrix[4 * row + c] * vector[c], shift * vector[row]),
    );
    const length = Math.hypot(...next);
    vector = next.map((value) => value / length);
  }
  return vector;
}

/** @param {number[]} quaternion */
function rotationOfQuaternion([w, x, y, z]) {
  // biome-ignore format: a matrix reads by its rows
  return [
    1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
    2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
    2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y),
  ];
}

/**
 * The rotation about X by `tiltDegrees`, then about Y by `yawDegrees`.
 *
 * @param {number} yawDegrees
 * @param {number} tiltDegrees
 */
function rotationOf(yawDegrees, tiltDegrees) {
  const [sinYaw, cosYaw] = sinCos(yawDegrees);
  const [sinTilt, cosTilt] = sinCos(tiltDegrees);
  // biome-ignore format: a matrix reads by its rows
  return [
    cosYaw, sinYaw * sinTilt, sinYaw * cosTilt,
    0, cosTilt, -sinTilt,
    -sinYaw, cosYaw * sinTilt, cosYaw * cosTilt,
  ];
}

/** @param {number} degrees */
const sinCos = (degrees) => [Math.sin((degrees * Math.PI) / 180), Math.cos((degrees * Math.PI) / 180)];

/**
 * Rotates the points, centers their box and scales its longest side to 2.
 *
 * @param {Float32Array} points
 * @param {number[]} rotation
 * @returns {Similarity}
 */
function normalizing(points, rotation) {
  const { min, max } = boxOf(apply({ rotation, scale: 1, shift: [0, 0, 0] }, points));
  const scale = 2 / Math.max(...max.map((value, axis) => value - min[axis]));
  return { rotation, scale, shift: mapVector(min, (value, axis) => (-scale * (value + max[axis])) / 2) };
}

/**
 * The bounding box of points [3·N].
 *
 * @param {Float32Array} points
 * @returns {{ min: Vector, max: Vector }}
 */
function boxOf(points) {
  /** @type {Vector} */
  const min = [Infinity, Infinity, Infinity];
  /** @type {Vector} */
  const max = [-Infinity, -Infinity, -Infinity];
  for (let i = 0; i < points.length; i++) {
    min[i % 3] = Math.min(min[i % 3], points[i]);
    max[i % 3] = Math.max(max[i % 3], points[i]);
  }
  return { min, max };
}

/**
 * @param {Similarity} similarity
 * @param {Float32Array} points [3·N]
 */
function apply({ rotation, scale, shift }, points) {
  const moved = new Float32Array(points.length);
  for (let i = 0; i < points.length; i += 3) {
    const [x, y, z] = [points[i], points[i + 1], points[i + 2]];
    moved[i] = scale * (rotation[0] * x + rotation[1] * y + rotation[2] * z) + shift[0];
    moved[i + 1] = scale * (rotation[3] * x + rotation[4] * y + rotation[5] * z) + shift[1];
    moved[i + 2] = scale * (rotation[6] * x + rotation[7] * y + rotation[8] * z) + shift[2];
  }
  return moved;
}

/**
 * @param {Similarity} similarity
 * @returns {Similarity}
 */
function inverse({ rotation: r, scale, shift }) {
  const rotation = [r[0], r[3], r[6], r[1], r[4], r[7], r[2], r[5], r[8]];
  return { rotation, scale: 1 / scale, shift: mapVector(multiply(rotation, shift), (value) => -value / scale) };
}

/** @type {(matrix: number[], vector: Vector) => Vector} */
const multiply = (matrix, [x, y, z]) =>
  mapVector([0, 3, 6], (row) => matrix[row] * x + matrix[row + 1] * y + matrix[row + 2] * z);

/** @type {([x, y, z]: Vector, map: (value: number, axis: number) => number) => Vector} */
const mapVector = ([x, y, z], map) => [map(x, 0), map(y, 1), map(z, 2)];

/**
 * @param {Float32Array} points [3·N]
 * @returns {Vector}
 */
function meanOf(points) {
  /** @type {Vector} */
  const sums = [0, 0, 0];
  for (let i = 0; i < points.length; i++) sums[i % 3] += points[i];
  return mapVector(sums, (sum) => sum / (points.length / 3));
}

/** @type {(points: Float32Array, ids: Uint32Array) => Float32Array} */
function gather(points, ids) {
  const gathered = new Float32Array(3 * ids.length);
  for (let i = 0; i < ids.length; i++) gathered.set(points.subarray(3 * ids[i], 3 * ids[i] + 3), 3 * i);
  return gathered;
}

/**
 * Takes `count` of the points [3·N] at even steps, or all of them if there are fewer.
 *
 * @param {Float32Array} points
 * @param {number} count
 */
function thin(points, count) {
  const total = points.length / 3;
  if (total <= count) return points;
  return gather(
    points,
    Uint32Array.from({ length: count }, (_, i) => Math.floor(((i + 0.5) * total) / count)),
  );
}

/** @param {Float32Array} values */
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** @type {(from: number, to: number, step: number) => number[]} */
function range(from, to, step) {
  return Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, i) => from + i * step);
}
