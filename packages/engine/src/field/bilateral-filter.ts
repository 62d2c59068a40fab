/** Depths that differ by this, where the box is 2 deep, are mixed little. It is a few voxels of the networks. */
const range = 0.08;

/**
 * Makes a bilateral filter for [size·size] channels, guided by a depth map. It evens out the staircase that a network
 * learns from voxels, and keeps the steps between parts. Apply it once: a second pass would round sharp edges. Far from
 * the object, values stay as they are, which saves most of the time.
 */
export function bilateralFilter(
  depth: Float32Array,
  matte: Float32Array,
  size: number,
): (channels: Float32Array) => Float32Array {
  const pixels = pixelsWithin(2, matte, size);
  // The 3x3 neighborhood of each pixel, and its weights.
  const neighbors = new Uint32Array(9 * pixels.length);
  const weights = new Float32Array(9 * pixels.length);
  pixels.forEach((i, at) => {
    let total = 0;
    for (let n = 0; n < 9; n++) {
      const j = neighbor(i, n, size);
      const apart = (depth[j]! - depth[i]!) / range;
      neighbors[9 * at + n] = j;
      weights[9 * at + n] = (0.02 + matte[j]!) * Math.exp(-apart * apart);
      total += weights[9 * at + n]!;
    }
    for (let n = 0; n < 9; n++) weights[9 * at + n]! /= total;
  });
  return (channels) => {
    const filtered = channels.slice();
    for (let first = 0; first < channels.length; first += size * size) {
      for (let p = 0; p < pixels.length; p++) {
        let sum = 0;
        for (let k = 9 * p; k < 9 * p + 9; k++) sum += weights[k]! * channels[first + neighbors[k]!]!;
        filtered[first + pixels[p]!] = sum;
      }
    }
    return filtered;
  };
}

/** Finds the pixels of the object, and those that are up to `distance` pixels away from it. */
function pixelsWithin(distance: number, matte: Float32Array, size: number): Uint32Array {
  let isNear = Uint8Array.from(matte, (coverage) => (coverage > 0 ? 1 : 0));
  for (let round = 0; round < distance; round++) {
    const wider = isNear.slice();
    for (let i = 0; i < isNear.length; i++) {
      if (isNear[i]) for (let n = 0; n < 9; n++) wider[neighbor(i, n, size)] = 1;
    }
    isNear = wider;
  }
  return Uint32Array.from(isNear.keys()).filter((i) => isNear[i]);
}

/** Returns the n-th pixel of the 3x3 neighborhood of i, or i itself beyond the border. */
export function neighbor(i: number, n: number, size: number): number {
  const x = (i % size) + (n % 3) - 1;
  const y = Math.floor(i / size) + Math.floor(n / 3) - 1;
  return x < 0 || y < 0 || x >= size || y >= size ? i : y * size + x;
}
