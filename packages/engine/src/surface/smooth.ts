import type { TriangleMesh } from './mesh.js';

/**
 * Smooths a closed mesh without shrinking it: each pass moves every vertex towards the mean of its neighbours, then a
 * little further back, which cancels the low frequencies' loss.
 *
 * @see Taubin, "A Signal Processing Approach to Fair Surface Design", SIGGRAPH 1995; factors as recommended there
 */
export function smooth({ positions, indices }: TriangleMesh, passes: number): TriangleMesh {
  const degree = new Float32Array(positions.length / 3);
  for (const vertex of indices) degree[vertex]!++;
  const smoothed = positions.slice();
  const sums = new Float32Array(positions.length);
  for (let pass = 0; pass < passes; pass++) {
    relax(smoothed, indices, degree, sums, 0.5);
    relax(smoothed, indices, degree, sums, -0.53);
  }
  return { positions: smoothed, indices };
}

function relax(
  positions: Float32Array,
  indices: Uint32Array,
  degree: Float32Array,
  sums: Float32Array,
  factor: number,
): void {
  sums.fill(0);
  // In a closed mesh each edge is walked once in either direction, so adding one end to the other meets every
  // neighbour of a vertex exactly once.
  for (let t = 0; t < indices.length; t += 3) {
    for (let c = 0; c < 3; c++) {
      const a = 3 * indices[t + c]!;
      const b = 3 * indices[t + (c === 2 ? 0 : c + 1)]!;
      sums[a]! += positions[b]!;
      sums[a + 1]! += positions[b + 1]!;
      sums[a + 2]! += positions[b + 2]!;
    }
  }
  for (let vertex = 0; vertex < degree.length; vertex++) {
    const count = degree[vertex]!;
    if (count === 0) continue;
    for (let axis = 3 * vertex; axis < 3 * vertex + 3; axis++) {
      positions[axis]! += factor * (sums[axis]! / count - positions[axis]!);
    }
  }
}
