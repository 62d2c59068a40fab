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
  /** Linear red, green and blue per vertex, [3·V], which multiply the texture. Default: white. */
  readonly colors?: Float32Array;
}

/** The entries of vertex v are in `list`, from `starts[v]` up to, but without, `starts[v + 1]`. */
export interface ByVertex {
  readonly starts: Uint32Array;
  readonly list: Uint32Array;
}

/** Returns the next corner of the same triangle. Corners are numbered as in `indices`. */
export const nextCorner = (corner: number): number => (corner % 3 === 2 ? corner - 2 : corner + 1);

/** Lists the corners at each vertex, in ascending order. */
export function cornersByVertex(indices: Uint32Array, vertexCount: number): ByVertex {
  const starts = new Uint32Array(vertexCount + 1);
  for (let corner = 0; corner < indices.length; corner++) starts[indices[corner]! + 1]!++;
  for (let vertex = 0; vertex < vertexCount; vertex++) starts[vertex + 1]! += starts[vertex]!;
  const next = starts.slice(0, vertexCount);
  const list = new Uint32Array(indices.length);
  for (let corner = 0; corner < indices.length; corner++) list[next[indices[corner]!]!++] = corner;
  return { starts, list };
}

/** Lists the neighbors of each vertex of a closed mesh, in which every edge occurs once in either direction. */
export function vertexNeighbors(indices: Uint32Array, vertexCount: number): ByVertex {
  const { starts, list } = cornersByVertex(indices, vertexCount);
  return { starts, list: list.map((corner) => indices[nextCorner(corner)]!) };
}

/** Computes the normal of the triangle whose corners start at `t`. Its length is twice the triangle's area. */
export function normalOf(positions: Float32Array, indices: Uint32Array, t: number, normal: Float64Array): void {
  const a = 3 * indices[t]!;
  const b = 3 * indices[t + 1]!;
  const c = 3 * indices[t + 2]!;
  const ux = positions[b]! - positions[a]!;
  const uy = positions[b + 1]! - positions[a + 1]!;
  const uz = positions[b + 2]! - positions[a + 2]!;
  const vx = positions[c]! - positions[a]!;
  const vy = positions[c + 1]! - positions[a + 1]!;
  const vz = positions[c + 2]! - positions[a + 2]!;
  normal[0] = uy * vz - uz * vy;
  normal[1] = uz * vx - ux * vz;
  normal[2] = ux * vy - uy * vx;
}
