/** One channel of a picture: `data` is [width·height], rows from the top. */
export interface Plane {
  readonly width: number;
  readonly height: number;
  readonly data: Float32Array;
}

/** A square of a picture in its pixel coordinates; it may have fractions and reach beyond the picture. */
export interface Window {
  readonly left: number;
  readonly top: number;
  readonly side: number;
}

/**
 * Resamples a square window of a plane to [size·size]: averages exact areas when it shrinks, interpolates linearly when
 * it grows. What lies beyond the picture is `outside`, or the nearest edge pixel if that is undefined.
 */
export function resample(plane: Plane, window: Window, size: number, outside?: number): Float32Array {
  const columns = taps(window.left, window.side, size, plane.width);
  const rows = taps(window.top, window.side, size, plane.height);

  // Only the rows that are looked at are scaled; they are few when a small object is cut out of a large photo.
  const first = rows.inside[0];
  const narrow = new Float32Array(Math.max(0, rows.inside[1] - first) * size);
  for (let y = first; y < rows.inside[1]; y++) {
    const source = y * plane.width;
    const target = (y - first) * size;
    for (let i = 0; i < size; i++) {
      const from = columns.start[i]!;
      let sum = 0;
      for (let t = 0; t < columns.count; t++) {
        const x = from + t;
        const weight = columns.weights[i * columns.count + t]!;
        if (weight === 0) continue;
        if (x >= 0 && x < plane.width) sum += weight * plane.data[source + x]!;
        else sum += weight * (outside ?? plane.data[source + clamp(x, plane.width)]!);
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
      const beyond = y < 0 || y >= plane.height;
      if (beyond && outside !== undefined) {
        for (let i = 0; i < size; i++) result[j * size + i] = result[j * size + i]! + weight * outside;
        continue;
      }
      const source = (clamp(y, plane.height) - first) * size;
      for (let i = 0; i < size; i++) result[j * size + i] = result[j * size + i]! + weight * narrow[source + i]!;
    }
  }
  return result;
}

const clamp = (index: number, length: number) => Math.min(length - 1, Math.max(0, index));

/** For each output pixel the first input pixel it reads and the weights, which sum to 1, of `count` pixels from there on. */
interface Taps {
  readonly start: Int32Array;
  readonly weights: Float32Array;
  readonly count: number;
  /** First and one past the last input pixel that exist and are read. */
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
      const centre = origin + (i + 0.5) * scale - 0.5;
      start[i] = Math.floor(centre);
      weights[i * count + 1] = centre - start[i]!;
      weights[i * count] = 1 - weights[i * count + 1]!;
    }
  }
  const last = start[size - 1]! + count;
  return { start, weights, count, inside: [clamp(start[0]!, length), clamp(last, length) + 1] };
}
