import type { TriangleMesh } from '../base/mesh.js';

/**
 * What keeps a mesh from being a closed, consistently wound 2-manifold; empty when nothing does.
 *
 * Checks that no triangle repeats a vertex, that each directed edge occurs exactly once and its reverse too, and that
 * the triangles around each vertex form a single fan.
 */
export function topologyProblems(mesh: TriangleMesh): string[] {
  const problems: string[] = [];
  const bad = nonManifoldVertices(mesh);
  if (bad.length > 0) {
    problems.push(`${bad.length} vertices on edges without exactly two triangles, or with several fans`);
  }
  return problems;
}

/** The vertices at which the mesh is not a closed, consistently wound 2-manifold, in ascending order. */
export function nonManifoldVertices({ positions, indices }: TriangleMesh): Uint32Array {
  const vertexCount = positions.length / 3;
  const bad = new Uint8Array(vertexCount);

  // The directed edges that leave each vertex, side by side: where they end, and the corner opposite to them. A vertex
  // has six or so, which are searched sooner than any hash table.
  const starts = new Uint32Array(vertexCount + 1);
  for (let i = 0; i < indices.length; i++) starts[indices[i]! + 1]!++;
  for (let vertex = 0; vertex < vertexCount; vertex++) starts[vertex + 1]! += starts[vertex]!;
  const ends = new Uint32Array(indices.length);
  const opposite = new Uint32Array(indices.length);
  const filled = starts.slice(0, vertexCount);
  for (let t = 0; t < indices.length; t += 3) {
    for (let c = 0; c < 3; c++) {
      const edge = filled[indices[t + c]!]!++;
      ends[edge] = indices[t + (c === 2 ? 0 : c + 1)]!;
      opposite[edge] = indices[t + (c === 0 ? 2 : c - 1)]!;
    }
  }
  const edgeBetween = (from: number, to: number): number => {
    for (let edge = starts[from]!; edge < starts[from + 1]!; edge++) if (ends[edge] === to) return edge;
    return -1;
  };

  for (let vertex = 0; vertex < vertexCount; vertex++) {
    for (let edge = starts[vertex]!; edge < starts[vertex + 1]!; edge++) {
      const end = ends[edge]!;
      // The first edge between two vertices is not this one where there are several.
      if (end === vertex || edgeBetween(vertex, end) !== edge || edgeBetween(end, vertex) < 0) {
        bad[vertex] = 1;
        bad[end] = 1;
      }
    }
  }
  for (let vertex = 0; vertex < vertexCount; vertex++) {
    const degree = starts[vertex + 1]! - starts[vertex]!;
    if (bad[vertex] || degree === 0) continue;
    // Turning once around the vertex must meet all its triangles.
    const first = starts[vertex]!;
    let edge = first;
    let turned = 0;
    do {
      edge = edgeBetween(vertex, opposite[edge]!);
      turned++;
    } while (edge !== first && turned <= degree);
    if (turned !== degree) bad[vertex] = 1;
  }
  let count = 0;
  for (let vertex = 0; vertex < vertexCount; vertex++) count += bad[vertex]!;
  const vertices = new Uint32Array(count);
  for (let vertex = 0, i = 0; vertex < vertexCount; vertex++) if (bad[vertex]) vertices[i++] = vertex;
  return vertices;
}

/** Volume inside a closed mesh, in its units cubed; negative if it winds inwards. */
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
