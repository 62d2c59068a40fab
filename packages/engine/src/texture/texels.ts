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

/** A point of the surface at a texel. Reuse one for all texels. */
export class SurfacePoint {
  readonly #indices: Uint32Array;
  readonly #texels: Texels;
  #a = 0;
  #b = 0;
  #c = 0;
  #weightA = 1;
  #weightB = 0;
  #weightC = 0;

  /** @param indices the triangles, in the order of the mesh that `texels` was made of. Vertices may be renumbered */
  constructor(indices: Uint32Array, texels: Texels) {
    this.#indices = indices;
    this.#texels = texels;
  }

  /** @param texel one that a chart covers */
  moveTo(texel: number): void {
    const triangle = this.#texels.triangleOf[texel]!;
    this.#a = 3 * this.#indices[3 * triangle]!;
    this.#b = 3 * this.#indices[3 * triangle + 1]!;
    this.#c = 3 * this.#indices[3 * triangle + 2]!;
    this.#weightB = this.#texels.cornerWeights[2 * texel]!;
    this.#weightC = this.#texels.cornerWeights[2 * texel + 1]!;
    this.#weightA = 1 - this.#weightB - this.#weightC;
  }

  /** Interpolates the axis or channel 0, 1 or 2 of an attribute [3·V]. */
  mix(attribute: Float32Array, axis: number): number {
    return (
      this.#weightA * attribute[this.#a + axis]! +
      this.#weightB * attribute[this.#b + axis]! +
      this.#weightC * attribute[this.#c + axis]!
    );
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
