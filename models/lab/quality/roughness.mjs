// How bumpy models are on the side that the photo does not show, next to the side that it shows.
//
//   node models/lab/quality/roughness.mjs FILE.glb...
//
// Prints the mean angle in degrees between the normal of a vertex and the mean normal of its neighbors, by area.
import { readFileSync } from 'node:fs';
import { readModel } from '../../../packages/convert/dist/index.js';
import { Failed, main } from '../../../scripts/processes.mjs';

/** A vertex is hidden or seen if the cosine between its normal and the direction of the camera is beyond this. */
const minCosine = 0.2;

/** @typedef {[number, number, number]} Vector */
/** @typedef {{ hidden: number, seen: number }} Roughness in degrees */

/** @type {(a: Vector, b: Vector) => number} */
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];

/** @type {(a: Vector, b: Vector) => Vector} */
const minus = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];

/** @type {(a: Vector, b: Vector) => Vector} */
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];

/** @type {(a: Vector) => Vector} */
function unit(a) {
  const length = Math.hypot(...a) || 1;
  return [a[0] / length, a[1] / length, a[2] / length];
}

/** @type {(sum: Vector, value: Vector) => void} */
function add(sum, value) {
  for (const axis of /** @type {const} */ ([0, 1, 2])) sum[axis] += value[axis];
}

/**
 * Measures a model by itself, so that splits along the seams of the texture do not count.
 *
 * @param {{ positions: Float32Array, indices: Uint32Array }} mesh
 * @param {Vector} camera the position of the photo's camera
 * @returns {Roughness}
 */
export function roughnessOf({ positions, indices }, camera) {
  /** @type {Map<string, number>} */
  const ids = new Map();
  /** @type {{ at: Vector, normal: Vector, area: number, near: Set<number> }[]} */
  const vertices = [];
  const corners = Array.from(indices, (index) => {
    const at = /** @type {Vector} */ ([...positions.subarray(3 * index, 3 * index + 3)]);
    const key = at.map((value) => value.toFixed(6)).join();
    const id = ids.get(key) ?? vertices.push({ at, normal: [0, 0, 0], area: 0, near: new Set() }) - 1;
    ids.set(key, id);
    return id;
  });
  for (let t = 0; t < corners.length; t += 3) {
    const triangle = corners.slice(t, t + 3);
    const [a, b, c] = triangle.map((id) => vertices[id].at);
    const normal = cross(minus(b, a), minus(c, a));
    for (const id of triangle) {
      add(vertices[id].normal, normal);
      vertices[id].area += Math.hypot(...normal);
      for (const other of triangle) if (other !== id) vertices[id].near.add(other);
    }
  }
  const normals = vertices.map(({ normal }) => unit(normal));
  const sums = { hidden: { angle: 0, area: 0 }, seen: { angle: 0, area: 0 } };
  vertices.forEach(({ at, area, near }, id) => {
    /** @type {Vector} */
    const mean = [0, 0, 0];
    for (const other of near) add(mean, normals[other]);
    const angle = Math.acos(Math.min(1, Math.max(-1, dot(normals[id], unit(mean)))));
    const facing = dot(normals[id], unit(minus(camera, at)));
    if (Math.abs(facing) < minCosine) return;
    const side = sums[facing < 0 ? 'hidden' : 'seen'];
    side.angle += area * angle;
    side.area += area;
  });
  const degrees = (/** @type {{ angle: number, area: number }} */ { angle, area }) => ((angle / area) * 180) / Math.PI;
  return { hidden: degrees(sums.hidden), seen: degrees(sums.seen) };
}

if (process.argv[1]?.endsWith('roughness.mjs')) {
  await main(async () => {
    const files = process.argv.slice(2);
    if (files.length === 0) throw new Failed('Usage: node models/lab/quality/roughness.mjs FILE.glb...');
    const mean = { hidden: 0, seen: 0 };
    for (const file of files) {
      const bytes = readFileSync(file);
      const { asset } = JSON.parse(bytes.toString('utf8', 20, 20 + bytes.readUInt32LE(12)));
      const [{ positions, indices }] = (await readModel(bytes)).parts;
      const { hidden, seen } = roughnessOf({ positions, indices }, asset.extras.photo.cameraPosition);
      mean.hidden += hidden / files.length;
      mean.seen += seen / files.length;
    }
    console.log(`${files.length} models: hidden ${mean.hidden.toFixed(2)} degrees, seen ${mean.seen.toFixed(2)}`);
  });
}
