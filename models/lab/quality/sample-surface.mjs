import { seededRandom } from '../random.mjs';

/** @typedef {{ positions: Float32Array, indices: Uint32Array }} Triangles [3·V], [3·T] */
/** @typedef {Triangles & { uvs: Float32Array }} TexturedTriangles uvs [2·V], v pointing down */
/** @typedef {import('../../../packages/engine/dist/index.js').RgbaImage} RgbaImage */

/**
 * Samples points on a mesh, uniformly by area.
 *
 * @param {TexturedTriangles} mesh
 * @param {RgbaImage} baseColor its texture
 * @param {number} count
 * @param {number} seed
 * @returns {{ positions: Float32Array, colors: Uint8Array }} [3·count] each; colors are the texture's sRGB
 */
export function sampleSurface({ positions, indices, uvs }, baseColor, count, seed = 1) {
  const random = seededRandom(seed);
  const areaUpTo = cumulativeAreas(positions, indices);
  const last = areaUpTo.length - 1;
  const sampled = new Float32Array(3 * count);
  const colors = new Uint8Array(3 * count);
  let triangle = 0;
  for (let i = 0; i < count; i++) {
    // One point in each of `count` equal shares of the area: no part is missed by chance.
    const area = ((i + random()) / count) * areaUpTo[last];
    while (triangle < last && areaUpTo[triangle] < area) triangle++;
    const root = Math.sqrt(random());
    const along = random();
    const weights = [1 - root, root * (1 - along), root * along];
    let [u, v] = [0, 0];
    for (let corner = 0; corner < 3; corner++) {
      const vertex = indices[3 * triangle + corner];
      for (let axis = 0; axis < 3; axis++) sampled[3 * i + axis] += weights[corner] * positions[3 * vertex + axis];
      u += weights[corner] * uvs[2 * vertex];
      v += weights[corner] * uvs[2 * vertex + 1];
    }
    const column = Math.min(baseColor.width - 1, Math.max(0, Math.floor(u * baseColor.width)));
    const row = Math.min(baseColor.height - 1, Math.max(0, Math.floor(v * baseColor.height)));
    const texel = 4 * (row * baseColor.width + column);
    for (let c = 0; c < 3; c++) colors[3 * i + c] = baseColor.data[texel + c];
  }
  return { positions: sampled, colors };
}

/**
 * @param {Float32Array} positions [3·V]
 * @param {Uint32Array} indices [3·T]
 * @returns [T]: the area of each triangle and all before it
 */
function cumulativeAreas(positions, indices) {
  const areas = new Float64Array(indices.length / 3);
  let sum = 0;
  for (let t = 0; t < areas.length; t++) {
    const [a, b, c] = [0, 1, 2].map((corner) => 3 * indices[3 * t + corner]);
    const [ux, uy, uz] = [0, 1, 2].map((axis) => positions[b + axis] - positions[a + axis]);
    const [vx, vy, vz] = [0, 1, 2].map((axis) => positions[c + axis] - positions[a + axis]);
    sum += Math.hypot(uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx) / 2;
    areas[t] = sum;
  }
  return areas;
}
