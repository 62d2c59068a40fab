/**
 * An indexed triangle mesh with shared vertices. `positions` is [3·V], `indices` [3·T]; fronts wind counter-clockwise
 * seen from outside, as glTF 2.0 wants.
 */
export interface TriangleMesh {
  readonly positions: Float32Array;
  readonly indices: Uint32Array;
}

/** A mesh ready for glTF: unit `normals` [3·V] and `uvs` [2·V] in 0..1 with v DOWN (glTF's convention); vertices are split along UV seams. */
export interface TexturedMesh extends TriangleMesh {
  readonly normals: Float32Array;
  readonly uvs: Float32Array;
}
