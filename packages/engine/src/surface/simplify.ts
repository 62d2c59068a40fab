import { MeshoptSimplifier } from 'meshoptimizer';
import type { TriangleMesh } from '../base/mesh.js';
import { compact } from './clean.js';
import { collapseEdges } from './collapse-edges.js';
import { nonManifoldVertices } from './topology.js';

export interface Simplified {
  readonly mesh: TriangleMesh;
  /** False where the parts and handles of the mesh take more triangles than that, however they are arranged. */
  readonly withinBudget: boolean;
}

/**
 * Reduces a closed mesh to at most `maxTriangles` by quadric error, and keeps it a closed 2-manifold.
 *
 * meshoptimizer does most of it, many times faster than JavaScript could, but does not promise the latter: collapsing
 * an edge of a thin tube can fold it onto itself. Where that happened the region is locked and the mesh simplified
 * again; what that leaves above the budget, edges collapsed one by one take away.
 */
export async function simplify(mesh: TriangleMesh, maxTriangles: number): Promise<Simplified> {
  if (mesh.indices.length <= 3 * maxTriangles) return { mesh, withinBudget: true };
  if (fewestTriangles(mesh) > maxTriangles) return { mesh, withinBudget: false };
  const reduced = await simplifyFast(mesh, maxTriangles);
  const within = reduced.indices.length <= 3 * maxTriangles ? reduced : collapseEdges(reduced, maxTriangles);
  return { mesh: within, withinBudget: within.indices.length <= 3 * maxTriangles };
}

/** A bound from below: by Euler's formula handles cost four triangles each, and a closed part has four vertices at least. */
function fewestTriangles({ positions, indices }: TriangleMesh): number {
  const characteristic = positions.length / 3 - indices.length / 6;
  return 2 * (4 - characteristic);
}

/** To about the budget; the mesh itself where it folds again and again. */
async function simplifyFast(mesh: TriangleMesh, maxTriangles: number): Promise<TriangleMesh> {
  await MeshoptSimplifier.ready;
  const { positions, indices } = mesh;
  const locked = new Uint8Array(positions.length / 3);
  for (const [attempt, times] of attempts.entries()) {
    if (3 * times * maxTriangles >= indices.length) break;
    const [simplified] = MeshoptSimplifier.simplifyWithAttributes(
      indices,
      positions,
      3,
      new Float32Array(0),
      0,
      [],
      locked,
      3 * times * maxTriangles,
      1,
      // Evenly shaped triangles take vertex normals and texture without streaks.
      ['Regularize'],
    );
    const folded = nonManifoldVertices({ positions, indices: simplified });
    if (folded.length === 0) return compact(positions, simplified);
    for (const vertex of folded) locked[vertex] = 1;
    for (let ring = 0; ring < 2 + attempt; ring++) lockNeighbours(indices, locked);
  }
  return mesh;
}

/** How many times the budget each attempt asks for: the further it is from it, the less folds. */
const attempts = [1, 1, 1, 1, 3, 6];

/** Locks every vertex of a triangle that has a locked one. */
function lockNeighbours(indices: Uint32Array, locked: Uint8Array): void {
  const before = locked.slice();
  for (let t = 0; t < indices.length; t += 3) {
    const [a, b, c] = [indices[t]!, indices[t + 1]!, indices[t + 2]!];
    if (!before[a] && !before[b] && !before[c]) continue;
    locked[a] = 1;
    locked[b] = 1;
    locked[c] = 1;
  }
}
