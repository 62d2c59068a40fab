import type { ModelPart } from '../src/index.js';

/** A part that has only a shape. */
export const part = (positions: readonly number[], indices: readonly number[]): ModelPart => ({
  positions: Float32Array.from(positions),
  indices: Uint32Array.from(indices),
  normals: undefined,
  uvs: undefined,
  colors: undefined,
  material: undefined,
});
