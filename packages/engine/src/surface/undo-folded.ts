import { normalOf } from '../base/mesh.js';

/**
 * Moves the corners of folded triangles back.
 *
 * @param minCosine a triangle counts as folded if the cosine between its normals before and after is at most this
 * @returns the number of moved vertices
 */
export function undoFolded(
  moved: Float32Array,
  positions: Float32Array,
  indices: Uint32Array,
  minCosine: number,
): number {
  let undone = 0;
  const before = new Float64Array(3);
  const after = new Float64Array(3);
  for (let t = 0; t < indices.length; t += 3) {
    normalOf(positions, indices, t, before);
    normalOf(moved, indices, t, after);
    const product = before[0]! * after[0]! + before[1]! * after[1]! + before[2]! * after[2]!;
    const squared = before[0]! * before[0]! + before[1]! * before[1]! + before[2]! * before[2]!;
    const squaredAfter = after[0]! * after[0]! + after[1]! * after[1]! + after[2]! * after[2]!;
    if (product > minCosine * Math.sqrt(squared * squaredAfter)) continue;
    for (let corner = t; corner < t + 3; corner++) if (moveBack(moved, positions, indices[corner]!)) undone++;
  }
  return undone;
}

/** Moves a vertex back to its position. @returns whether it had moved */
export function moveBack(moved: Float32Array, positions: Float32Array, vertex: number): boolean {
  let changed = false;
  for (let axis = 3 * vertex; axis < 3 * vertex + 3; axis++) {
    changed ||= moved[axis] !== positions[axis];
    moved[axis] = positions[axis]!;
  }
  return changed;
}
