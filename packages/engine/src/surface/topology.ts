import { cornersByVertex, nextCorner, type TriangleMesh } from '../base/mesh.js';

/**
 * Finds the vertices at which the mesh is not a closed, consistently wound 2-manifold, in ascending order: those of
 * triangles that repeat a vertex, of directed edges that do not occur exactly once in either direction, and those whose
 * triangles do not form a single fan.
 */
export function nonManifoldVertices({ positions, indices }: TriangleMesh): Uint32Array {
  const vertexCount = positions.length / 3;
  const bad = new Uint8Array(vertexCount);

  // The directed edges from each vertex: their end and the opposite corner. A vertex has about six, and searching them
  // is faster than any hash table.
  const { starts, list } = cornersByVertex(indices, vertexCount);
  const ends = list.map((corner) => indices[nextCorner(corner)]!);
  const opposite = list.map((corner) => indices[nextCorner(nextCorner(corner))]!);
  const edgeBetween = (from: number, to: number): number => {
    for (let edge = starts[from]!; edge < starts[from + 1]!; edge++) if (ends[edge] === to) return edge;
    return -1;
  };

  for (let vertex = 0; vertex < vertexCount; vertex++) {
    for (let edge = starts[vertex]!; edge < starts[vertex + 1]!; edge++) {
      const end = ends[edge]!;
      // If there are several edges between two vertices, `edgeBetween` finds another one.
      if (end === vertex || edgeBetween(vertex, end) !== edge || edgeBetween(end, vertex) < 0) {
        bad[vertex] = 1;
        bad[end] = 1;
      }
    }
  }
  for (let vertex = 0; vertex < vertexCount; vertex++) {
    const degree = starts[vertex + 1]! - starts[vertex]!;
    if (bad[vertex] || degree === 0) continue;
    // One turn around the vertex has to visit all its triangles.
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
