/** Defaults of those options of `Engine.generate` that determine the mesh and its texture. */
export const meshDefaults = {
  /**
   * Grid cells along the longest side. More cells than columns hardly add detail to a field that is interpolated from
   * 128 columns. They do add detail to a field that is smooth between the samples, see `DensityField.projects`.
   */
  resolution: { stepped: 128, smooth: 256 },
  /** Simple shapes have fewer, see `simplify`. */
  maxTriangles: 40_000,
  /**
   * The engine simplifies no further, because a decoder's colors are per vertex, and the search for mirror planes
   * compares vertices. `@gen3d/convert` can simplify finished models.
   */
  minTriangles: 10_000,
  /** Pixels a side, for models of one photo, and of several, whose sides are all as sharp as the front of one. */
  textureSize: 1024,
  textureSizeOfSeveral: 1536,
};
