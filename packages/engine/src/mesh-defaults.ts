/** The defaults of the options of `Engine.generate` that determine the mesh and its texture. */
export const meshDefaults = {
  /** Grid cells along the longest side. */
  resolution: 256,
  maxTriangles: 40_000,
  /** Pixels a side. */
  textureSize: 1024,
};
