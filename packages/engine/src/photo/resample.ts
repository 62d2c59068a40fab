/** One channel of an image: `data` is [width·height], rows from the top. */
export interface Channel {
  readonly width: number;
  readonly height: number;
  readonly data: Float32Array;
}

/** A square of an image in its pixel coordinates, which may be fractional and beyond the image. */
export interface Window {
  readonly left: number;
  readonly top: number;
  readonly side: number;
}

/**
 * Resamples a square window of a channel to [size·size]: averages exact areas to shrink, and interpolates linearly to
 * enlarge. Pixels beyond the image have the value `outside`, or that of the nearest edge pixel if it is undefined.
 */
export function resample(channel: Channel, window: Window, size: number, outside?: number): Float32Array {
  const columns = taps(window.left, window.side, size, channel.width);
  const rows = taps(window.top, window.side, size, channel.height);

  // Scale only the rows that are used: they are few when a small object is cut out of a large photo.
  const first = rows.inside[0];
  const narrow = new Float32Array(Math.max(0, rows.inside[1] - first) * size);
  for (let y = first; y < rows.inside[1]; y++) {
    const source = y * channel.width;
    const target = (y - first) * size;
    for (let i = 0; i < size; i++) {
      const from = columns.start[i]!;
      let sum = 0;
      for (let t = 0; t < columns.count; t++) {
        const x = from + t;
        const weight = columns.weights[i * columns.count + t]!;
        if (weight === 0) continue;
        if (x >= 0 && x < channel.width) sum += weight * channel.data[source + x]!;
        else sum += weight * (outside ?? channel.data[source + clamp(x, channel.width)]!);
      }
      narrow[target + i] = sum;
    }
  }

  const result = new Float32Array(size * size);
  for (let j = 0; j < size; j++) {
    const from = rows.start[j]!;
    for (let t = 0; t < rows.count; t++) {
      const y = from + t;
      const weight = rows.weights[j * rows.count + t]!;
      if (weight === 0) continue;
      const beyond = y < 0 || y >= channel.height;
      if (beyond && outside !== undefined) {
        for (let i = 0; i < size; i++) result[j * size + i] = result[j * size + i]! + weight * outside;
        continue;
      }
      const source = (clamp(y, channel.height) - first) * size;
      for (let i = 0; i < size; i++) result[j * size + i] = result[j * size + i]! + weight * narrow[source + i]!;
    }
  }
  return result;
}

const clamp = (index: number, length: number) => Math.min(length - 1, Math.max(0, index));

/** For each output pixel, the first of `count` input pixels and their weights, which sum to 1. */
interface Taps {
  readonly start: Int32Array;
  readonly weights: Float32Array;
  readonly count: number;
  /** The first and one past the last existing input pixel that is used. */
  readonly inside: readonly [number, number];
}

function taps(origin: number, side: number, size: number, length: number): Taps {
  const scale = side / size;
  const shrinks = scale >= 1;
  const count = shrinks ? Math.ceil(scale) + 1 : 2;
  const start = new Int32Array(size);
  const weights = new Float32Array(size * count);
  for (let i = 0; i < size; i++) {
    if (shrinks) {
      const from = origin + i * scale;
      start[i] = Math.floor(from);
      for (let t = 0; t < count; t++) {
        const pixel = start[i]! + t;
        const overlap = Math.min(pixel + 1, from + scale) - Math.max(pixel, from);
        weights[i * count + t] = Math.max(0, overlap) / scale;
      }
    } else {
      const center = origin + (i + 0.5) * scale - 0.5;
      start[i] = Math.floor(center);
      weights[i * count + 1] = center - start[i]!;
      weights[i * count] = 1 - weights[i * count + 1]!;
    }
  }
  const last = start[size - 1]! + count;
  return { start, weights, count, inside: [clamp(start[0]!, length), clamp(last, length) + 1] };
}
