import type { TexturedMesh, TriangleMesh } from '../base/mesh.js';

/** The mesh with the vertices that UV seams split joined again: by position, which splitting leaves as it is. */
export function welded({ positions, indices }: TexturedMesh): TriangleMesh {
  const ids = new Map<string, number>();
  const source = Array.from({ length: positions.length / 3 }, (_, i) => {
    const key = positions.subarray(3 * i, 3 * i + 3).join(' ');
    if (!ids.has(key)) ids.set(key, ids.size);
    return ids.get(key)!;
  });
  const unique = new Float32Array(3 * ids.size);
  source.forEach((id, i) => {
    unique.set(positions.subarray(3 * i, 3 * i + 3), 3 * id);
  });
  return { positions: unique, indices: indices.map((vertex) => source[vertex]!) };
}
