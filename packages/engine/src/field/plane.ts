/**
 * Samples one channel of a square picture bilinearly, clamping at the border.
 *
 * @param values [size·size] from `offset` on, rows from the top
 * @param u -1 (left edge of the picture) .. 1 (right edge)
 * @param v -1 (top edge) .. 1 (bottom edge)
 */
export function sampleBilinear(values: Float32Array, size: number, u: number, v: number, offset = 0): number {
  const last = size - 1;
  const x = Math.min(Math.max(((u + 1) * size - 1) / 2, 0), last);
  const y = Math.min(Math.max(((v + 1) * size - 1) / 2, 0), last);
  const x0 = Math.min(Math.floor(x), last - 1);
  const y0 = Math.min(Math.floor(y), last - 1);
  const fx = x - x0;
  const fy = y - y0;
  const i = offset + y0 * size + x0;
  const top = values[i]! * (1 - fx) + values[i + 1]! * fx;
  const bottom = values[i + size]! * (1 - fx) + values[i + size + 1]! * fx;
  return top * (1 - fy) + bottom * fy;
}
