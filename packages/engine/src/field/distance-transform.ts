/**
 * Computes the signed Euclidean distance to a matte's outline, in pixels, positive inside.
 *
 * Shape: `matte` is [size·size] in 0..1, rows from the top, and so is the result. Distances are from pixel centers; the
 * coverage of a boundary pixel shifts them by up to half a pixel, so that a soft edge gives a smooth outline.
 * @see Felzenszwalb and Huttenlocher, "Distance Transforms of Sampled Functions", Theory of Computing 2012
 */
export function signedDistance(matte: Float32Array, size: number): Float32Array {
  const inside = matte.map((coverage) => (coverage > 0.5 ? 1 : 0));
  const toOutside = distanceTo(inside, 0, size);
  const toInside = distanceTo(inside, 1, size);
  return toOutside.map((distance, i) => {
    const subPixel = matte[i]! - 0.5;
    // Away from the outline, coverage is saturated and does not show where in the pixel the edge is.
    return inside[i] ? distance - 1 + subPixel : subPixel + 1 - toInside[i]!;
  });
}

/** Computes the distance from each pixel to the nearest one with this value, in pixels. */
export function distanceTo(pixels: Float32Array, value: number, size: number): Float32Array {
  // More than the distance of any two pixels. Infinity would give NaN when subtracted from itself.
  const far = 4 * size * size;
  const squared = pixels.map((pixel) => (pixel === value ? 0 : far));
  const line = new Float32Array(size);
  const vertices = new Int32Array(size);
  const crossings = new Float32Array(size + 1);
  for (let x = 0; x < size; x++) lowerEnvelope(squared, x, size, size, line, vertices, crossings);
  for (let y = 0; y < size; y++) lowerEnvelope(squared, y * size, 1, size, line, vertices, crossings);
  return squared.map(Math.sqrt);
}

/** Replaces one line of squared distances by the lower envelope of the parabolas over its samples. */
function lowerEnvelope(
  values: Float32Array,
  start: number,
  stride: number,
  length: number,
  line: Float32Array,
  vertices: Int32Array,
  crossings: Float32Array,
): void {
  for (let i = 0; i < length; i++) line[i] = values[start + i * stride]!;
  let last = 0;
  vertices[0] = 0;
  crossings[0] = -Infinity;
  crossings[1] = Infinity;
  for (let i = 1; i < length; i++) {
    let crossing: number;
    for (;;) {
      const vertex = vertices[last]!;
      crossing = (line[i]! + i * i - line[vertex]! - vertex * vertex) / (2 * (i - vertex));
      if (crossing > crossings[last]!) break;
      last--;
    }
    last++;
    vertices[last] = i;
    crossings[last] = crossing;
    crossings[last + 1] = Infinity;
  }
  let k = 0;
  for (let i = 0; i < length; i++) {
    while (crossings[k + 1]! < i) k++;
    const vertex = vertices[k]!;
    values[start + i * stride] = (i - vertex) ** 2 + line[vertex]!;
  }
}
