import type { DensityScale } from './density-field.js';
import type { Lattice } from './lattice.js';

// Corners are numbered x + 2y + 4z.
const corners = [0, 1, 2, 3, 4, 5, 6, 7];
const pairs = corners.flatMap((a) => corners.filter((b) => b > a).map((b) => [a, b] as const));
/** Each pair of corners, and the axes along which they differ, as bits. */
const segments = Uint8Array.from(pairs.flatMap(([a, b]) => [a, b, a ^ b]));

/**
 * Finds the cells of a lattice that the surface can cross: their samples are on both sides of it, or the field is steep
 * enough to reach it and return between two of them.
 *
 * Reaching the surface from a value f and returning to g along a segment takes a change of |f| + |g|. A cell is dropped
 * if that is more than `margin` times the field's change along the segment's axes around the cell, for each edge and
 * each diagonal. Slopes are compared per axis, which drops the cells next to a smooth surface: the field is steep
 * toward them but not along them.
 * @param parents cells of 2 x 2 x 2 to examine; the others are known not to be crossed. Undefined: all
 * @returns a flag for each cell
 */
export function refinableCells(
  { values, size }: Lattice,
  parents: Uint8Array | undefined,
  scale: DensityScale,
  margin: number,
): Uint8Array {
  const [nx, ny, nz] = size;
  const [mx, my, mz] = [nx - 1, ny - 1, nz - 1];
  const layer = nx * ny;
  const offsets = Int32Array.from(corners, (c) => (c & 1) + (c & 2 ? nx : 0) + (c & 4 ? layer : 0));
  const scaled = new Float32Array(values.length);
  for (let i = 0; i < scaled.length; i++) scaled[i] = scale.of(values[i]!);
  const refinable = new Uint8Array(mx * my * mz);
  const distances = new Float64Array(8);
  const reach = new Float64Array(8);

  for (let k = 0; k < mz; k++) {
    for (let j = 0; j < my; j++) {
      const parentRow = (mx >> 1) * ((j >> 1) + (my >> 1) * (k >> 1));
      for (let i = 0; i < mx; i++) {
        if (parents && !parents[parentRow + (i >> 1)]) continue;
        const first = i + nx * j + layer * k;
        let inside = 0;
        let nearest = Infinity;
        for (let c = 0; c < 8; c++) {
          const value = scaled[first + offsets[c]!]!;
          if (value > 0) inside++;
          const distance = Math.abs(value);
          distances[c] = distance;
          if (distance < nearest) nearest = distance;
        }
        if (inside === 0 || inside === 8) {
          const along = steepest(scaled, first, 1, nx, layer, i > 0, i + 1 < mx);
          const across = steepest(scaled, first, nx, 1, layer, j > 0, j + 1 < my);
          const deep = steepest(scaled, first, layer, 1, nx, k > 0, k + 1 < mz);
          // Rejects most cells early, because they are far from the surface: no segment has a smaller sum or a larger
          // reach.
          if (2 * nearest > margin * (along + across + deep)) continue;
          for (let axes = 1; axes < 8; axes++) {
            reach[axes] = margin * ((axes & 1 ? along : 0) + (axes & 2 ? across : 0) + (axes & 4 ? deep : 0));
          }
          let crossable = false;
          for (let s = 0; s < segments.length && !crossable; s += 3) {
            crossable = distances[segments[s]!]! + distances[segments[s + 1]!]! <= reach[segments[s + 2]!]!;
          }
          if (!crossable) continue;
        }
        refinable[i + mx * (j + my * k)] = 1;
      }
    }
  }
  return refinable;
}

/**
 * Computes the maximum difference of two neighbors along an axis, in the cell and the ones before and after it. A mean
 * slope over all three would be too small next to a thin part.
 *
 * @param first the cell's lowest corner
 * @param stride of the axis; `u` and `v` are those of the other two
 */
function steepest(
  values: Float32Array,
  first: number,
  stride: number,
  u: number,
  v: number,
  hasBefore: boolean,
  hasAfter: boolean,
): number {
  let max = 0;
  for (let edge = 0; edge < 4; edge++) {
    const at = first + (edge & 1 ? u : 0) + (edge & 2 ? v : 0);
    const low = values[at]!;
    const high = values[at + stride]!;
    const within = Math.abs(high - low);
    if (within > max) max = within;
    if (hasBefore) {
      const before = Math.abs(low - values[at - stride]!);
      if (before > max) max = before;
    }
    if (hasAfter) {
      const after = Math.abs(values[at + 2 * stride]! - high);
      if (after > max) max = after;
    }
  }
  return max;
}
