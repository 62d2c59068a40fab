import { KdTree } from './kd-tree.mjs';

const yaws = range(0, 345, 15);
const tilts = [-20, 0, 20];
const searchPoints = 256;
const starts = 6;
const coarse = { points: 1024, rounds: 12 };
const fine = { points: 4096, rounds: 24 };

/**
 * Lays a model over the truth, as the TripoSR report does: both scaled to [-1, 1], every rotation of a grid tried
 * (all yaws, tilted by up to 20 degrees), the best refined by iterated closest points.
 *
 * A photo tells neither size nor distance, so ICP may scale as well as move and turn. Pairs are made from both sides,
 * the model's points to the truth's and back: from one side only, shrinking the model would always pay.
 *
 * @param {Float32Array} model [3·N] evenly spread over the model, Y up
 * @param {Float32Array} truth [3·N] evenly spread over the object, Y up, in [-1, 1]
 * @returns {{ placed: Float32Array, similarity: { rotation: number[], scale: number, shift: number[] } }}
 *          the model's points where they fit best, and what took them there: scale · rotation (rows) · point + shift
 * @see Tochilkin et al., "TripoSR: Fast 3D Object Reconstruction from a Single Image", 2024, section 3
 * @see Besl and McKay, "A Method for Registration of 3-D Shapes", 1992
 */
export function align(model, truth) {
  const few = { model: everySo(model, searchPoints), truth: everySo(truth, searchPoints) };
  const some = pair(everySo(model, coarse.points), everySo(truth, coarse.points));
  const candidates = [];
  for (const tilt of tilts) {
    for (const yaw of yaws) {
      const similarity = normalising(some.model, rotationOf(yaw, tilt));
      candidates.push({ similarity, chamfer: chamferOf(similarity, few, some) });
    }
  }
  candidates.sort((a, b) => a.chamfer - b.chamfer);
  const refined = candidates.slice(0, starts).map(({ similarity }) => iterate(similarity, some, coarse.rounds));
  refined.sort((a, b) => a.chamfer - b.chamfer);
  const many = pair(everySo(model, fine.points), everySo(truth, fine.points));
  const { similarity } = iterate(refined[0].similarity, many, fine.rounds);
  return { placed: apply(similarity, model), similarity };
}

/** Points with the trees that find them, one of each side. */
function pair(model, truth) {
  return { model, truth, modelTree: new KdTree(model), truthTree: new KdTree(truth) };
}

/** The similarity with the lowest Chamfer distance on the way. */
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

const chamferOf = (similarity, queries, trees) => closestPairs(similarity, queries, trees).chamfer;

/** Model points and the truth points nearest to them where they are placed now, in both directions. */
function closestPairs(similarity, { model, truth }, { model: modelPoints, truth: truthPoints, modelTree, truthTree }) {
  const toTruth = truthTree.nearest(apply(similarity, model));
  const toModel = modelTree.nearest(apply(inverse(similarity), truth));
  const count = (model.length + truth.length) / 3;
  const sources = new Float32Array(3 * count);
  const targets = new Float32Array(3 * count);
  sources.set(model);
  targets.set(gather(truthPoints, toTruth.ids));
  sources.set(gather(modelPoints, toModel.ids), model.length);
  targets.set(truth, model.length);
  const chamfer = (mean(toTruth.distances) + mean(toModel.distances) * similarity.scale) / 2;
  return { sources, targets, chamfer };
}

/**
 * The similarity that takes `sources` [3·N] nearest to `targets` [3·N], in least squares.
 *
 * @see Horn, "Closed-form solution of absolute orientation using unit quaternions", 1987
 */
function closestSimilarity(sources, targets) {
  const [from, to] = [middleOf(sources), middleOf(targets)];
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
  // Horn's symmetric scale: the same whichever side is called the source.
  const scale = Math.sqrt(spreadTo / spreadFrom);
  const turned = multiply(rotation, from);
  return { rotation, scale, shift: to.map((value, axis) => value - scale * turned[axis]) };
}

/** Of a symmetric 4 x 4 matrix, by power iteration; the shift makes the largest eigenvalue the one of largest size. */
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

function rotationOfQuaternion([w, x, y, z]) {
  // biome-ignore format: a matrix reads by its rows
  return [
    1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
    2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
    2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y),
  ];
}

/** About X by `tiltDegrees` first, then about Y by `yawDegrees`. */
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

const sinCos = (degrees) => [Math.sin((degrees * Math.PI) / 180), Math.cos((degrees * Math.PI) / 180)];

/** Turns the points, then centres their box and makes its longest side 2. */
function normalising(points, rotation) {
  const { min, max } = boxOf(apply({ rotation, scale: 1, shift: [0, 0, 0] }, points));
  const scale = 2 / Math.max(...max.map((value, axis) => value - min[axis]));
  return { rotation, scale, shift: min.map((value, axis) => (-scale * (value + max[axis])) / 2) };
}

/** The box around points [3·N]: `min` and `max`, each [x, y, z]. */
export function boxOf(points) {
  const [min, max] = [
    [Infinity, Infinity, Infinity],
    [-Infinity, -Infinity, -Infinity],
  ];
  for (let i = 0; i < points.length; i++) {
    min[i % 3] = Math.min(min[i % 3], points[i]);
    max[i % 3] = Math.max(max[i % 3], points[i]);
  }
  return { min, max };
}

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

function inverse({ rotation: r, scale, shift }) {
  const rotation = [r[0], r[3], r[6], r[1], r[4], r[7], r[2], r[5], r[8]];
  return { rotation, scale: 1 / scale, shift: multiply(rotation, shift).map((value) => -value / scale) };
}

const multiply = (m, [x, y, z]) => [0, 3, 6].map((row) => m[row] * x + m[row + 1] * y + m[row + 2] * z);

function middleOf(points) {
  const middle = [0, 0, 0];
  for (let i = 0; i < points.length; i++) middle[i % 3] += points[i];
  return middle.map((sum) => sum / (points.length / 3));
}

function gather(points, ids) {
  const gathered = new Float32Array(3 * ids.length);
  for (let i = 0; i < ids.length; i++) gathered.set(points.subarray(3 * ids[i], 3 * ids[i] + 3), 3 * i);
  return gathered;
}

/** About `count` of the points [3·N], taken at even steps through the list. */
function everySo(points, count) {
  const total = points.length / 3;
  if (total <= count) return points;
  return gather(
    points,
    Uint32Array.from({ length: count }, (_, i) => Math.floor(((i + 0.5) * total) / count)),
  );
}

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

function range(from, to, step) {
  return Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, i) => from + i * step);
}
