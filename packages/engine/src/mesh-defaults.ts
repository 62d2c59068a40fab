/** Defaults of those options of `Engine.generate` that determine the mesh and its texture. */
export const meshDefaults = {
  /**
   * Grid cells along the longest side. A field that is interpolated from 128 columns shows hardly more detail with more
   * cells than columns. A field that is smooth between the samples does, see `DensityField.projects`.
   */
  resolution: { stepped: 128, smooth: 256 },
  /** Simple shapes have fewer, see `simplify`. */
  maxTriangles: 40_000,
  /**
   * The engine stops here, because a decoder's colors are per vertex, and the search for mirror planes compares
   * vertices. `@gen3d/convert` makes smaller models of finished ones.
   */
  minTriangles: 10_000,
  /** Pixels a side. */
  textureSize: 1024,
};
