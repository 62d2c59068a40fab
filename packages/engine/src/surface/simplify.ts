import { MeshoptSimplifier } from 'meshoptimizer';
import { compact } from './clean.js';
import type { TriangleMesh } from './mesh.js';
import { nonManifoldVertices } from './topology.js';

/**
 * Reduces a closed mesh to about `maxTriangles` by quadric error, and keeps it a closed 2-manifold.
 *
 * meshoptimizer does not promise the latter: collapsing an edge of a thin tube can fold it onto itself. Where that
 * happened the region is locked and the mesh simplified again; it then keeps a few more triangles than asked for.
 */
export async function simplify(mesh: TriangleMesh, maxTriangles: number): Promise<TriangleMesh> {
  if (mesh.indices.length <= 3 * maxTriangles) return mesh;
  await MeshoptSimplifier.ready;
  const { positions, indices } = mesh;
  const locked = new Uint8Array(positions.length / 3);
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const [simplified] = MeshoptSimplifier.simplifyWithAttributes(
      indices,
      positions,
      3,
      new Float32Array(0),
      0,
      [],
      locked,
      3 * maxTriangles,
      1,
      // Evenly shaped triangles take vertex normals and texture without streaks.
      ['Regularize'],
    );
    const folded = nonManifoldVertices({ positions, indices: simplified });
    if (folded.size === 0) return compact(positions, [simplified]);
    for (const vertex of folded) locked[vertex] = 1;
    for (let ring = 0; ring < 2 + attempt; ring++) lockNeighbours(indices, locked);
  }
  return mesh;
}

const maxAttempts = 8;

/** Locks every vertex of a triangle that has a locked one. */
function lockNeighbours(indices: Uint32Array, locked: Uint8Array): void {
  const touched: number[] = [];
  for (let t = 0; t < indices.length; t += 3) {
    const [a, b, c] = [indices[t]!, indices[t + 1]!, indices[t + 2]!];
    if (locked[a] || locked[b] || locked[c]) touched.push(a, b, c);
  }
  for (const vertex of touched) locked[vertex] = 1;
}
