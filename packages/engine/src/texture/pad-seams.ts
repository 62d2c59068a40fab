/**
 * Fills the texels between charts with colors from their rims, so that mipmaps and JPEG blocks do not bleed other
 * colors into a chart: averages down to ever smaller sizes, then fills the holes from there.
 *
 * Shape: `colors` [3·N] linear, for the texels `pixels` [N]. Returns linear [3·size·size].
 * @see Gortler, Grzeszczuk, Szeliski and Cohen, "The Lumigraph", SIGGRAPH 1996, section 3.4.2
 */
export function padSeams(pixels: Uint32Array, colors: Float32Array, size: number): Float32Array {
  const filled = new Float32Array(3 * size * size);
  const weights = new Float32Array(size * size);
  pixels.forEach((pixel, i) => {
    filled.set(colors.subarray(3 * i, 3 * i + 3), 3 * pixel);
    weights[pixel] = 1;
  });
  pullPush(filled, weights, size);
  return filled;
}

/** Fills every texel of weight 0, in place. Colors of weight 1 stay. */
function pullPush(colors: Float32Array, weights: Float32Array, size: number): void {
  if (size === 1) return;
  const half = Math.ceil(size / 2);
  const smaller = new Float32Array(3 * half * half);
  const smallerWeights = new Float32Array(half * half);
  for (let y = 0; y < size; y++) {
    for (let x = 0; x < size; x++) {
      const weight = weights[y * size + x]!;
      if (weight === 0) continue;
      const parent = (y >> 1) * half + (x >> 1);
      smallerWeights[parent]! += weight;
      for (let c = 0; c < 3; c++) smaller[3 * parent + c]! += weight * colors[3 * (y * size + x) + c]!;
    }
  }
  for (let parent = 0; parent < smallerWeights.length; parent++) {
    const weight = smallerWeights[parent]!;
    if (weight === 0) continue;
    for (let c = 0; c < 3; c++) smaller[3 * parent + c]! /= weight;
    smallerWeights[parent] = 1;
  }
  pullPush(smaller, smallerWeights, half);
  for (let y = 0; y < size; y++) {
    for (let x = 0; x < size; x++) {
      if (weights[y * size + x]! > 0) continue;
      const parent = (y >> 1) * half + (x >> 1);
      for (let c = 0; c < 3; c++) colors[3 * (y * size + x) + c] = smaller[3 * parent + c]!;
    }
  }
}
