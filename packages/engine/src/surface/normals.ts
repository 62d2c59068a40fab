import type { TriangleMesh } from '../base/mesh.js';

/**
 * Computes unit vertex normals [3·V]: the mean of the adjoining triangles' normals, weighted by their angle at the
 * vertex, so that they do not depend on how a flat side is cut into triangles.
 *
 * @see Thürmer and Wüthrich, "Computing Vertex Normals from Polygonal Facets", Journal of Graphics Tools 1998
 */
export function vertexNormals({ positions, indices }: TriangleMesh): Float32Array {
  const normals = new Float32Array(positions.length);
  const edges = new Float64Array(9);
  for (let t = 0; t < indices.length; t += 3) {
    const corners = [3 * indices[t]!, 3 * indices[t + 1]!, 3 * indices[t + 2]!] as const;
    for (let c = 0; c < 3; c++) {
      const from = corners[c as 0 | 1 | 2];
      const to = corners[((c + 1) % 3) as 0 | 1 | 2];
      const [x, y, z] = [
        positions[to]! - positions[from]!,
        positions[to + 1]! - positions[from + 1]!,
        positions[to + 2]! - positions[from + 2]!,
      ];
      const length = Math.hypot(x, y, z) || 1;
      edges[3 * c] = x / length;
      edges[3 * c + 1] = y / length;
      edges[3 * c + 2] = z / length;
    }
    const nx = edges[1]! * edges[5]! - edges[2]! * edges[4]!;
    const ny = edges[2]! * edges[3]! - edges[0]! * edges[5]!;
    const nz = edges[0]! * edges[4]! - edges[1]! * edges[3]!;
    const length = Math.hypot(nx, ny, nz);
    if (length === 0) continue;
    for (let c = 0; c < 3; c++) {
      const out = 3 * c;
      const back = 3 * ((c + 2) % 3);
      const cosine = -(
        edges[out]! * edges[back]! +
        edges[out + 1]! * edges[back + 1]! +
        edges[out + 2]! * edges[back + 2]!
      );
      const weight = Math.acos(Math.min(1, Math.max(-1, cosine))) / length;
      const corner = corners[c as 0 | 1 | 2];
      normals[corner]! += weight * nx;
      normals[corner + 1]! += weight * ny;
      normals[corner + 2]! += weight * nz;
    }
  }
  for (let i = 0; i < normals.length; i += 3) {
    const length = Math.hypot(normals[i]!, normals[i + 1]!, normals[i + 2]!);
    // If the normals cancel out, any unit vector keeps the file valid.
    if (length === 0) normals[i + 1] = 1;
    else for (let axis = i; axis < i + 3; axis++) normals[axis]! /= length;
  }
  return normals;
}
