import { MeshoptSimplifier } from 'meshoptimizer';
import { type TriangleMesh, vertexNeighbors } from '../base/mesh.js';
import { meshDefaults } from '../base/mesh-defaults.js';
import { compact, connectedParts } from './clean.js';
import { nonManifoldVertices } from './topology.js';

export interface Simplified {
  readonly mesh: TriangleMesh;
  /** False if the mesh needs more triangles than allowed to keep its shape within the tolerance. */
  readonly withinBudget: boolean;
}

/**
 * Reduces a closed mesh by quadric error, and keeps it a closed 2-manifold: to as few triangles as the shape needs, but
 * at most `maxTriangles`.
 *
 * meshoptimizer does most of the work, many times faster than JavaScript, but does not keep a manifold: collapsing an
 * edge of a thin tube can fold the tube onto itself. Such regions are locked and the mesh is simplified again, within
 * the tolerance: without one, all that is not locked would lose its shape.
 * @param maxTriangles at least `meshDefaults.minTriangles`
 * @param tolerance distance, in units of the mesh, by which simplification may move the surface
 */
export async function simplify(mesh: TriangleMesh, maxTriangles: number, tolerance: number): Promise<Simplified> {
  const target = meshDefaults.minTriangles;
  if (mesh.indices.length <= 3 * target) return { mesh, withinBudget: true };
  if (minTriangles(mesh) > maxTriangles) return { mesh, withinBudget: false };
  const simplified = await simplifyFast(mesh, target, tolerance);
  return { mesh: simplified, withinBudget: simplified.indices.length <= 3 * maxTriangles };
}

/**
 * Reduces a mesh to about `triangles`, for drawing small images. The result need not be a manifold, so this takes 10 ms
 * for a usual mesh, and 0.7 s for noise of 500,000 triangles.
 */
export async function simplifyForDrawing({ positions, indices }: TriangleMesh, triangles: number) {
  await MeshoptSimplifier.ready;
  const maxShareOfExtent = 1;
  const target = Math.min(3 * triangles, indices.length);
  const [simplified] = MeshoptSimplifier.simplify(indices, positions, 3, target, maxShareOfExtent);
  return compact(positions, simplified);
}

/** A lower bound: by Euler's formula, a handle costs four triangles, and a closed part has four vertices or more. */
function minTriangles({ positions, indices }: TriangleMesh): number {
  const characteristic = positions.length / 3 - indices.length / 6;
  return 2 * (4 - characteristic);
}

/**
 * Simplifies until the mesh has about `triangles`, or another collapse would move it by more than `maxError`.
 *
 * @returns the mesh itself if every attempt folds it
 */
async function simplifyFast(mesh: TriangleMesh, triangles: number, maxError: number): Promise<TriangleMesh> {
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
      3 * triangles,
      maxError,
      // Well-shaped triangles avoid streaks in normals and texture.
      ['ErrorAbsolute', 'Regularize'],
    );
    const folded = nonManifoldVertices({ positions, indices: simplified });
    const torn = folded.length === 0 ? tornVertices(mesh, simplified) : [];
    if (folded.length === 0 && torn.length === 0) return compact(positions, simplified);
    for (const vertex of withNeighbors(indices, [...folded, ...torn], 2 + attempt)) locked[vertex] = 1;
  }
  return mesh;
}

/** Finds the vertices at which simplification tore the mesh into more parts: the middle of necks as thin as a cell. */
function tornVertices(mesh: TriangleMesh, simplified: Uint32Array): number[] {
  const { positions, indices } = mesh;
  const { partOf } = connectedParts({ positions, indices: simplified });
  const parts = new Set(Array.from(simplified, (vertex) => partOf[vertex]!));
  if (parts.size <= connectedParts(mesh).count) return [];
  // Each removed vertex belongs to the part of the nearest vertex that was not.
  const { starts, list } = vertexNeighbors(indices, partOf.length);
  const nearest = new Int32Array(partOf.length).fill(-1);
  const queue = [...new Set(simplified)];
  for (const vertex of queue) nearest[vertex] = partOf[vertex]!;
  const torn: number[] = [];
  for (const vertex of queue) {
    for (const neighbor of list.subarray(starts[vertex]!, starts[vertex + 1]!)) {
      if (nearest[neighbor] === nearest[vertex]) continue;
      if (nearest[neighbor]! >= 0) torn.push(vertex);
      else queue.push(neighbor);
      if (nearest[neighbor]! < 0) nearest[neighbor] = nearest[vertex]!;
    }
  }
  return torn;
}

/** Crumpled shapes fold a few times. Only the regions that folded are locked, so that the rest stays simple. */
const maxAttempts = 8;

/** Returns the vertices, and all others at most `edges` edges away. */
function withNeighbors(indices: Uint32Array, vertices: readonly number[], edges: number): ReadonlySet<number> {
  let region = new Set(vertices);
  for (let edge = 0; edge < edges; edge++) {
    const wider = new Set(region);
    for (let t = 0; t < indices.length; t++) {
      if (region.has(indices[t]!)) for (let corner = 0; corner < 3; corner++) wider.add(indices[t - (t % 3) + corner]!);
    }
    region = wider;
  }
  return region;
}
