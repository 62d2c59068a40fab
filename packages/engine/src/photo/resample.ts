/** `data` is [height·width·channels], rows from the top. */
export interface FloatImage {
  readonly width: number;
  readonly height: number;
  readonly channels: number;
  readonly data: Float32Array;
}

/** A square of an image in its pixel coordinates, which may be fractional and beyond the image. */
export interface Window {
  readonly left: number;
  readonly top: number;
  readonly side: number;
}

/** How pixels beyond the image count: as 0, or as the nearest pixel at its edge. */
export type Padding = 'zero' | 'edge';

/**
 * Resamples a square window of an image to [size·size·channels]: averages exact areas to shrink, and interpolates
 * linearly to enlarge.
 */
export function resample(image: FloatImage, window: Window, size: number, padding: Padding): Float32Array {
  const { left, top, side } = window;
  const overlaps = left < image.width && left + side > 0;
  if (side === size && overlaps && Number.isInteger(left) && Number.isInteger(top)) {
    return copied(image, window, size, padding);
  }
  const columns = taps(window.left, window.side, size, image.width, padding);
  const rows = taps(window.top, window.side, size, image.height, padding);
  const narrow = scaleRows(image, columns, size, rows.first, rows.last);

  const width = size * image.channels;
  const result = new Float32Array(size * width);
  for (let row = 0; row < size; row++) {
    const to = row * width;
    for (let tap = row * rows.count; tap < (row + 1) * rows.count; tap++) {
      const weight = rows.weights[tap]!;
      if (weight === 0) continue;
      const from = (rows.pixels[tap]! - rows.first) * width;
      for (let i = 0; i < width; i++) result[to + i]! += weight * narrow[from + i]!;
    }
  }
  return result;
}

/** Copies a window of whole pixels. */
function copied({ width, height, channels, data }: FloatImage, { left, top }: Window, size: number, padding: Padding) {
  const result = new Float32Array(channels * size * size);
  const [first, last] = [Math.max(0, -left), Math.min(size, width - left)];
  for (let y = 0; y < size; y++) {
    const row = Math.min(height - 1, Math.max(0, top + y));
    if (padding === 'zero' && row !== top + y) continue;
    const start = channels * (row * width + left);
    const to = channels * y * size;
    result.set(data.subarray(start + channels * first, start + channels * last), to + channels * first);
    if (padding === 'zero') continue;
    for (let x = 0; x < first; x++)
      result.copyWithin(to + channels * x, to + channels * first, to + channels * (first + 1));
    for (let x = last; x < size; x++)
      result.copyWithin(to + channels * x, to + channels * (last - 1), to + channels * last);
  }
  return result;
}

/** Scales the width of the rows `first` to `last`: the others are not used if an object is cut out of a large photo. */
function scaleRows(
  { width, channels, data }: FloatImage,
  { pixels, weights, count }: Taps,
  size: number,
  first: number,
  last: number,
): Float32Array {
  const narrow = new Float32Array((last - first + 1) * size * channels);
  let to = 0;
  for (let row = first; row <= last; row++) {
    for (let column = 0; column < size; column++) {
      for (let c = 0; c < channels; c++) {
        let sum = 0;
        for (let tap = column * count; tap < (column + 1) * count; tap++) {
          sum += weights[tap]! * data[channels * (row * width + pixels[tap]!) + c]!;
        }
        narrow[to++] = sum;
      }
    }
  }
  return narrow;
}

/** The input pixels that each output pixel uses, along one axis. */
interface Taps {
  /** Input pixels per output pixel. */
  readonly count: number;
  /** [size·count] */
  readonly pixels: Int32Array;
  /** [size·count], 0 to 1 */
  readonly weights: Float64Array;
  /** The first and the last input pixel. */
  readonly first: number;
  readonly last: number;
}

function taps(origin: number, side: number, size: number, length: number, padding: Padding): Taps {
  const scale = side / size;
  const shrinks = scale >= 1;
  const count = shrinks ? Math.ceil(scale) + 1 : 2;
  const pixels = new Int32Array(size * count);
  const weights = new Float64Array(size * count);
  for (let i = 0; i < size; i++) {
    const from = shrinks ? origin + i * scale : origin + (i + 0.5) * scale - 0.5;
    for (let t = 0; t < count; t++) {
      const pixel = Math.floor(from) + t;
      const weight = shrinks
        ? Math.max(0, Math.min(pixel + 1, from + scale) - Math.max(pixel, from)) / scale
        : 1 - Math.abs(pixel - from);
      const existing = Math.min(length - 1, Math.max(0, pixel));
      pixels[i * count + t] = existing;
      weights[i * count + t] = padding === 'zero' && existing !== pixel ? 0 : weight;
    }
  }
  return { count, pixels, weights, first: pixels[0]!, last: pixels[pixels.length - 1]! };
}
