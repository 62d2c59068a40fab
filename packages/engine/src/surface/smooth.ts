import { type ByVertex, type TriangleMesh, vertexNeighbors } from '../base/mesh.js';

/**
 * Smooths a closed mesh without shrinking it: each pass moves every vertex towards the mean of its neighbors, and then
 * slightly further back, which restores low frequencies. Every vertex belongs to a triangle.
 *
 * @see Taubin, "A Signal Processing Approach to Fair Surface Design", SIGGRAPH 1995, also for the factors
 */
export function smooth({ positions, indices }: TriangleMesh, passes: number): TriangleMesh {
  const neighbors = vertexNeighbors(indices, positions.length / 3);
  let current = positions.slice();
  let next = new Float32Array(positions.length);
  for (let half = 0; half < 2 * passes; half++) {
    relax(current, next, neighbors, half % 2 === 0 ? 0.5 : -0.53);
    [current, next] = [next, current];
  }
  return { positions: current, indices };
}

function relax(from: Float32Array, to: Float32Array, { starts, list }: ByVertex, factor: number): void {
  for (let vertex = 0; vertex < starts.length - 1; vertex++) {
    const start = starts[vertex]!;
    const end = starts[vertex + 1]!;
    let [x, y, z] = [0, 0, 0];
    for (let n = start; n < end; n++) {
      const neighbor = 3 * list[n]!;
      x += from[neighbor]!;
      y += from[neighbor + 1]!;
      z += from[neighbor + 2]!;
    }
    const at = 3 * vertex;
    const weight = factor / (end - start);
    const keep = 1 - factor;
    to[at] = keep * from[at]! + weight * x;
    to[at + 1] = keep * from[at + 1]! + weight * y;
    to[at + 2] = keep * from[at + 2]! + weight * z;
  }
}
