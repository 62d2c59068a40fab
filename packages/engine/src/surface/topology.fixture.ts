import type { TexturedMesh, TriangleMesh } from '../base/mesh.js';

/** Joins vertices of equal positions, which splitting leaves unchanged, and so removes UV seams. */
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

/** Computes the volume inside a closed mesh, in cubic units. Negative if the mesh is wound inward. */
export function enclosedVolume({ positions, indices }: TriangleMesh): number {
  let sixfold = 0;
  for (let t = 0; t < indices.length; t += 3) {
    const [a, b, c] = [3 * indices[t]!, 3 * indices[t + 1]!, 3 * indices[t + 2]!];
    const [ax, ay, az] = [positions[a]!, positions[a + 1]!, positions[a + 2]!];
    const [bx, by, bz] = [positions[b]!, positions[b + 1]!, positions[b + 2]!];
    const [cx, cy, cz] = [positions[c]!, positions[c + 1]!, positions[c + 2]!];
    sixfold += ax * (by * cz - bz * cy) + ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx);
  }
  return sixfold / 6;
}
