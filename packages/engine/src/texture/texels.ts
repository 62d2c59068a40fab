import type { TexturedMesh } from '../base/mesh.js';

/** Lists the texels that a mesh's charts cover, as points on its triangles. */
export interface Texels {
  /** [size·size] the triangle of each texel, row by row from the top, or -1. */
  readonly triangleOf: Int32Array;
  /** [2·size·size] weights of the triangle's second and third corner. */
  readonly cornerWeights: Float32Array;
}

/** Half a texel's diagonal, in texels, so that thin triangles without a texel center are painted too. */
const rim = 0.71;

/** Finds the surface point of every texel whose center is on a triangle or near its edge. */
export function texelsOf(mesh: TexturedMesh, size: number): Texels {
  const texels = {
    triangleOf: new Int32Array(size * size).fill(-1),
    cornerWeights: new Float32Array(2 * size * size),
  };
  // Covered texels first, so that a rim never replaces a texel inside another triangle.
  cover(mesh, size, 0, texels);
  cover(mesh, size, rim, texels);
  return texels;
}

/** The points of the surface at the covered texels of a row. Reuse one for all rows. */
export class TexelRow {
  /** The number of covered texels in the row. Their indices are the first ones in `texels`. */
  count = 0;
  readonly texels: Int32Array;
  readonly #indices: Uint32Array;
  readonly #all: Texels;
  readonly #size: number;
  /** [3·count] the offset of each triangle corner's values in an attribute, and the weight of that corner. */
  readonly #corners: Int32Array;
  readonly #weights: Float64Array;

  /** @param indices the triangles, in the order of the mesh that `texels` was made of. Vertices may be renumbered */
  constructor(indices: Uint32Array, texels: Texels, size: number) {
    this.#indices = indices;
    this.#all = texels;
    this.#size = size;
    this.texels = new Int32Array(size);
    this.#corners = new Int32Array(3 * size);
    this.#weights = new Float64Array(3 * size);
  }

  moveTo(row: number): void {
    const { triangleOf, cornerWeights } = this.#all;
    const indices = this.#indices;
    const corners = this.#corners;
    const weights = this.#weights;
    let count = 0;
    for (let texel = row * this.#size; texel < (row + 1) * this.#size; texel++) {
      const triangle = triangleOf[texel]!;
      if (triangle < 0) continue;
      const weightB = cornerWeights[2 * texel]!;
      const weightC = cornerWeights[2 * texel + 1]!;
      for (let c = 0; c < 3; c++) corners[3 * count + c] = 3 * indices[3 * triangle + c]!;
      weights[3 * count] = 1 - weightB - weightC;
      weights[3 * count + 1] = weightB;
      weights[3 * count + 2] = weightC;
      this.texels[count++] = texel;
    }
    this.count = count;
  }

  /** Interpolates an attribute [3·V] at the n-th point, and writes the values to `result`, starting at `at`. */
  mix(attribute: Float32Array, n: number, result: Float64Array, at: number): void {
    const corners = this.#corners;
    const weights = this.#weights;
    for (let axis = 0; axis < 3; axis++) {
      result[at + axis] =
        weights[3 * n]! * attribute[corners[3 * n]! + axis]! +
        weights[3 * n + 1]! * attribute[corners[3 * n + 1]! + axis]! +
        weights[3 * n + 2]! * attribute[corners[3 * n + 2]! + axis]!;
    }
  }
}

/** Assigns the free texels within `reach` of each triangle. */
function cover({ indices, uvs }: TexturedMesh, size: number, reach: number, texels: Texels): void {
  const { triangleOf, cornerWeights } = texels;
  for (let t = 0; t < indices.length / 3; t++) {
    const a = 2 * indices[3 * t]!;
    const b = 2 * indices[3 * t + 1]!;
    const c = 2 * indices[3 * t + 2]!;
    const ax = uvs[a]! * size;
    const ay = uvs[a + 1]! * size;
    const bx = uvs[b]! * size;
    const by = uvs[b + 1]! * size;
    const cx = uvs[c]! * size;
    const cy = uvs[c + 1]! * size;
    const area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax);
    if (Math.abs(area) < 1e-9) continue;
    // A barycentric weight changes by this, times the edge's length, over one texel.
    const scale = 1 / area;
    const slack = reach * Math.abs(scale);
    const minA = -slack * distance(bx, by, cx, cy);
    const minB = -slack * distance(cx, cy, ax, ay);
    const minC = -slack * distance(ax, ay, bx, by);
    const left = Math.max(0, Math.floor(Math.min(ax, bx, cx) - reach));
    const right = Math.min(size - 1, Math.floor(Math.max(ax, bx, cx) + reach));
    const top = Math.max(0, Math.floor(Math.min(ay, by, cy) - reach));
    const bottom = Math.min(size - 1, Math.floor(Math.max(ay, by, cy) + reach));
    for (let row = top; row <= bottom; row++) {
      const y = row + 0.5;
      for (let column = left; column <= right; column++) {
        const texel = row * size + column;
        if (triangleOf[texel]! >= 0) continue;
        const x = column + 0.5;
        const weightA = ((bx - x) * (cy - y) - (by - y) * (cx - x)) * scale;
        const weightB = ((cx - x) * (ay - y) - (cy - y) * (ax - x)) * scale;
        const weightC = 1 - weightA - weightB;
        if (weightA < minA || weightB < minB || weightC < minC) continue;
        triangleOf[texel] = t;
        const insideB = Math.max(weightB, 0);
        const insideC = Math.max(weightC, 0);
        const sum = Math.max(weightA, 0) + insideB + insideC;
        cornerWeights[2 * texel] = insideB / sum;
        cornerWeights[2 * texel + 1] = insideC / sum;
      }
    }
  }
}

function distance(ax: number, ay: number, bx: number, by: number): number {
  return Math.sqrt((bx - ax) * (bx - ax) + (by - ay) * (by - ay));
}

/**
 * Fills the texels between charts with colors from their rims, so that mipmaps and JPEG blocks do not bleed other
 * colors into a chart: averages down to ever smaller sizes, then fills the holes from there.
 *
 * Shape: `colors` [3·size·size], changed in place where `covered` [size·size] is 0. Covered texels keep their colors.
 * Units: linear light.
 * @see Gortler, Grzeszczuk, Szeliski and Cohen, "The Lumigraph", SIGGRAPH 1996, section 3.4.2
 */
export function padSeams(colors: Float32Array, covered: Uint8Array, size: number): void {
  if (size === 1) return;
  const half = Math.ceil(size / 2);
  const sums = new Float32Array(3 * half * half);
  const counts = new Uint8Array(half * half);
  for (let row = 0; row < size; row++) {
    for (let column = 0; column < size; column++) {
      const texel = row * size + column;
      if (!covered[texel]) continue;
      const parent = (row >> 1) * half + (column >> 1);
      counts[parent]!++;
      sums[3 * parent]! += colors[3 * texel]!;
      sums[3 * parent + 1]! += colors[3 * texel + 1]!;
      sums[3 * parent + 2]! += colors[3 * texel + 2]!;
    }
  }
  for (let parent = 0; parent < counts.length; parent++) {
    const count = counts[parent]!;
    if (count < 2) continue;
    sums[3 * parent]! /= count;
    sums[3 * parent + 1]! /= count;
    sums[3 * parent + 2]! /= count;
  }
  padSeams(sums, counts, half);
  for (let row = 0; row < size; row++) {
    for (let column = 0; column < size; column++) {
      const texel = row * size + column;
      if (covered[texel]) continue;
      const parent = (row >> 1) * half + (column >> 1);
      colors[3 * texel] = sums[3 * parent]!;
      colors[3 * texel + 1] = sums[3 * parent + 1]!;
      colors[3 * texel + 2] = sums[3 * parent + 2]!;
    }
  }
}
