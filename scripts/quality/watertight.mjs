/**
 * Whether a mesh closes: each edge, walked once by one triangle, is walked back by exactly one other.
 *
 * Vertices at the same place are one: a GLB splits them along the seams of its texture.
 * @param mesh `{ positions [3·V], indices [3·T] }`
 */
export function isWatertight({ positions, indices }) {
  const places = new Map();
  const placeOf = Array.from({ length: positions.length / 3 }, (_, vertex) => {
    const key = positions.subarray(3 * vertex, 3 * vertex + 3).join();
    if (!places.has(key)) places.set(key, places.size);
    return places.get(key);
  });
  const walked = new Set();
  const key = (from, to) => from * places.size + to;
  for (let t = 0; t < indices.length; t += 3) {
    for (let corner = 0; corner < 3; corner++) {
      const edge = key(placeOf[indices[t + corner]], placeOf[indices[t + ((corner + 1) % 3)]]);
      if (walked.has(edge)) return false;
      walked.add(edge);
    }
  }
  for (const edge of walked) {
    if (!walked.has(key(edge % places.size, Math.floor(edge / places.size)))) return false;
  }
  return walked.size > 0;
}
