/**
 * An indexed triangle mesh with shared vertices. `positions` is [3·V], `indices` [3·T]. Fronts wind counter-clockwise
 * seen from outside, as in glTF 2.0.
 */
export interface TriangleMesh {
  readonly positions: Float32Array;
  readonly indices: Uint32Array;
}

/**
 * A mesh ready for glTF: unit `normals` [3·V], and `uvs` [2·V] in 0..1 with v DOWN (glTF's convention). Vertices are
 * split along UV seams.
 */
export interface TexturedMesh extends TriangleMesh {
  readonly normals: Float32Array;
  readonly uvs: Float32Array;
}

/** The neighbors of vertex v are `list` from `starts[v]` to `starts[v + 1]`. */
export interface VertexNeighbors {
  readonly starts: Uint32Array;
  readonly list: Uint32Array;
}

/** The neighbors of each vertex of a closed mesh, in which every edge occurs once in either direction. */
export function vertexNeighbors(indices: Uint32Array, vertexCount: number): VertexNeighbors {
  const starts = new Uint32Array(vertexCount + 1);
  for (let i = 0; i < indices.length; i++) starts[indices[i]! + 1]!++;
  for (let vertex = 0; vertex < vertexCount; vertex++) starts[vertex + 1]! += starts[vertex]!;
  const next = starts.slice(0, vertexCount);
  const list = new Uint32Array(indices.length);
  for (let t = 0; t < indices.length; t += 3) {
    for (let c = 0; c < 3; c++) list[next[indices[t + c]!]!++] = indices[t + ((c + 1) % 3)]!;
  }
  return { starts, list };
}
