/**
 * Fills the texels between charts with colors from their rims, so that mipmaps and JPEG blocks do not bleed other
 * colors into a chart: averages down to ever smaller sizes, then fills the holes from there.
 *
 * Shape: `colors` [3·size·size], changed in place where `covered` [size·size] is 0. Covered texels keep their colors.
 * Units: linear light.
 * @see Gortler, Grzeszczuk, Szeliski and Cohen, "The Lumigraph", SIGGRAPH 1996, section 3.4.2
 */
export function padSeams(colors: Float32Array, covered: Uint8Array, size: number): void {
  if (size === 1) return;
  const half = Math.ceil(size / 2);
  const sums = new Float32Array(3 * half * half);
  const counts = new Uint8Array(half * half);
  for (let row = 0; row < size; row++) {
    for (let column = 0; column < size; column++) {
      const texel = row * size + column;
      if (!covered[texel]) continue;
      const parent = (row >> 1) * half + (column >> 1);
      counts[parent]!++;
      sums[3 * parent]! += colors[3 * texel]!;
      sums[3 * parent + 1]! += colors[3 * texel + 1]!;
      sums[3 * parent + 2]! += colors[3 * texel + 2]!;
    }
  }
  for (let parent = 0; parent < counts.length; parent++) {
    const count = counts[parent]!;
    if (count < 2) continue;
    sums[3 * parent]! /= count;
    sums[3 * parent + 1]! /= count;
    sums[3 * parent + 2]! /= count;
  }
  padSeams(sums, counts, half);
  for (let row = 0; row < size; row++) {
    for (let column = 0; column < size; column++) {
      const texel = row * size + column;
      if (covered[texel]) continue;
      const parent = (row >> 1) * half + (column >> 1);
      colors[3 * texel] = sums[3 * parent]!;
      colors[3 * texel + 1] = sums[3 * parent + 1]!;
      colors[3 * texel + 2] = sums[3 * parent + 2]!;
    }
  }
}
