import { weldedIds } from './weld.mjs';

/**
 * Whether a mesh is closed: for each edge of a triangle, exactly one other triangle has the opposite edge.
 *
 * Vertices with the same position count as one: a GLB splits them along texture seams.
 *
 * @param {import('./sample-surface.mjs').Triangles} mesh
 */
export function isWatertight({ positions, indices }) {
  const { ids, count } = weldedIds(positions);
  /** @type {Set<number>} */
  const edges = new Set();
  /** @type {(from: number, to: number) => number} */
  const edgeOf = (from, to) => from * count + to;
  for (let t = 0; t < indices.length; t += 3) {
    for (let corner = 0; corner < 3; corner++) {
      const edge = edgeOf(ids[indices[t + corner]], ids[indices[t + ((corner + 1) % 3)]]);
      if (edges.has(edge)) return false;
      edges.add(edge);
    }
  }
  for (const edge of edges) {
    if (!edges.has(edgeOf(edge % count, Math.floor(edge / count)))) return false;
  }
  return edges.size > 0;
}
