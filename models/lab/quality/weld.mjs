/**
 * Numbers the positions of a mesh, which may repeat: a GLB splits vertices along texture seams.
 *
 * @param {Float32Array} positions [3·V]
 * @returns the number of each vertex's position, and how many different ones there are
 */
export function weldedIds(positions) {
  /** @type {Map<string, number>} */
  const known = new Map();
  const ids = Array.from({ length: positions.length / 3 }, (_, vertex) => {
    const key = positions.subarray(3 * vertex, 3 * vertex + 3).join();
    const id = known.get(key) ?? known.size;
    known.set(key, id);
    return id;
  });
  return { ids, count: known.size };
}
