/** Turns the Y axis of a GLB up to the Z axis; its front, +Z, becomes -Y, which is the front in Blender. */
export function toZUp(vectors: Float32Array): Float32Array {
  const turned = new Float32Array(vectors.length);
  for (let at = 0; at < vectors.length; at += 3) {
    turned[at] = vectors[at]!;
    turned[at + 1] = -vectors[at + 2]!;
    turned[at + 2] = vectors[at + 1]!;
  }
  return turned;
}
