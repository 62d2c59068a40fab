/**
 * Whether a mesh is closed: for each edge of a triangle, exactly one other triangle has the opposite edge.
 *
 * Vertices with the same position count as one: a GLB splits them along texture seams.
 *
 * @param {import('./sample-surface.mjs').Triangles} mesh
 */
export function isWatertight({ positions, indices }) {
  /** @type {Map<string, number>} */
  const ids = new Map();
  const idOf = Array.from({ length: positions.length / 3 }, (_, vertex) => {
    const key = positions.subarray(3 * vertex, 3 * vertex + 3).join();
    const id = ids.get(key) ?? ids.size;
    ids.set(key, id);
    return id;
  });
  /** @type {Set<number>} */
  const edges = new Set();
  /** @type {(from: number, to: number) => number} */
  const edgeOf = (from, to) => from * ids.size + to;
  for (let t = 0; t < indices.length; t += 3) {
    for (let corner = 0; corner < 3; corner++) {
      const edge = edgeOf(idOf[indices[t + corner]], idOf[indices[t + ((corner + 1) % 3)]]);
      if (edges.has(edge)) return false;
      edges.add(edge);
    }
  }
  for (const edge of edges) {
    if (!edges.has(edgeOf(edge % ids.size, Math.floor(edge / ids.size)))) return false;
  }
  return edges.size > 0;
}
