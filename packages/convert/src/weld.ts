import type { ModelPart } from './model-parts.js';

/** The triangles of all parts with one vertex per position. Textures cut a surface, and this closes it. */
export interface WeldedMesh {
  /** x, y, z per vertex, with a float32's precision. */
  readonly positions: readonly number[];
  /** Three vertices per triangle, in the order of the parts. */
  readonly triangles: Uint32Array;
  /** The index of each part's first triangle. */
  readonly firstTriangles: readonly number[];
  /** The smallest coordinates of the triangles. */
  readonly min: readonly number[];
}

export function weld(parts: readonly ModelPart[]): WeldedMesh {
  const numbers = new Map<string, number>();
  const positions: number[] = [];
  const triangles = new Uint32Array(parts.reduce((sum, { indices }) => sum + indices.length, 0));
  const min = [Infinity, Infinity, Infinity];
  const firstTriangles: number[] = [];
  let at = 0;
  for (const part of parts) {
    firstTriangles.push(at / 3);
    for (const index of part.indices) {
      const position = part.positions.subarray(3 * index, 3 * index + 3);
      const key = position.join();
      let vertex = numbers.get(key);
      if (vertex === undefined) {
        vertex = numbers.size;
        numbers.set(key, vertex);
        for (let axis = 0; axis < 3; axis++) {
          positions.push(position[axis]!);
          min[axis] = Math.min(min[axis]!, position[axis]!);
        }
      }
      triangles[at++] = vertex;
    }
  }
  return { positions, triangles, firstTriangles, min };
}
