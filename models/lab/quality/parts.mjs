import { weldedIds } from './weld.mjs';

/**
 * Counts the connected parts of a mesh. Vertices with the same position count as one.
 *
 * @param {import('./sample-surface.mjs').Triangles} mesh
 */
export function countParts({ positions, indices }) {
  const { ids, count } = weldedIds(positions);
  const sets = new DisjointSets(count);
  for (let t = 0; t < indices.length; t += 3) {
    sets.join(ids[indices[t]], ids[indices[t + 1]]);
    sets.join(ids[indices[t]], ids[indices[t + 2]]);
  }
  return sets.count;
}

/** A pixel of at least this alpha belongs to the outline: 1 / 8, as in the engine's `join-parts.ts`. */
const minAlpha = 32;

/**
 * Counts the connected regions of a cutout's outline. Pixels that touch at a corner are connected.
 *
 * @param {import('./sample-surface.mjs').RgbaImage} photo
 */
export function countRegions({ width, height, data }) {
  /** @type {(x: number, y: number) => boolean} */
  const isCovered = (x, y) => x >= 0 && y >= 0 && x < width && data[4 * (y * width + x) + 3] >= minAlpha;
  const sets = new DisjointSets(width * height);
  let uncovered = 0;
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      if (!isCovered(x, y)) {
        uncovered++;
        continue;
      }
      for (const [dx, dy] of before) if (isCovered(x + dx, y + dy)) sets.join(y * width + x, (y + dy) * width + x + dx);
    }
  }
  return sets.count - uncovered;
}

/** The neighbors of a pixel that come before it, row by row. */
const before = [
  [-1, 0],
  [-1, -1],
  [0, -1],
  [1, -1],
];

/** Sets of the numbers 0 to `count` - 1, which are joined step by step. */
class DisjointSets {
  #parents;
  /** How many sets there are. */
  count;

  /** @param {number} count */
  constructor(count) {
    this.count = count;
    this.#parents = Uint32Array.from({ length: count }, (_, i) => i);
  }

  /** @type {(a: number, b: number) => void} */
  join(a, b) {
    const [rootA, rootB] = [this.#rootOf(a), this.#rootOf(b)];
    if (rootA === rootB) return;
    this.#parents[rootB] = rootA;
    this.count--;
  }

  /** @param {number} i */
  #rootOf(i) {
    const parents = this.#parents;
    while (parents[i] !== i) {
      parents[i] = parents[parents[i]];
      i = parents[i];
    }
    return i;
  }
}
