import type { Matte, RgbaImage } from '../base/image.js';

/** A part of an image, in whole pixels. */
export interface Rectangle {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** The matte of a part of a photo, and the part's colors, both scaled to one size. */
export interface SmallMatte extends Matte {
  /** [3·width·height] sRGB. */
  readonly colors: Uint8Array;
}

/** Half the side of the windows, in pixels of the small matte. */
const radius = 4;

/** Variance of colors in 0..1 that counts as noise. Coverage does not follow colors in windows with less contrast. */
const noiseVariance = 1e-4;

/**
 * Scales the matte of a part of a photo up to the photo with a guided filter, so its edges follow those of the photo.
 *
 * In each window of the small matte, coverage is fitted as a linear function of color. These functions, averaged over
 * all windows that contain a pixel, give the coverage of the photo's pixels near the matte's edges. Where color
 * explains little of the coverage, such as between a gray leg and a gray wall, the matte is interpolated instead, because
 * the filter would blur it. Outside `part`, the result is 0.
 * @see He and Sun, "Fast Guided Filter", arXiv:1505.00996, 2015
 */
export function enlargeMatte(photo: RgbaImage, part: Rectangle, small: SmallMatte): Matte {
  const { width, height } = small;
  const edges = nearEdges(small);
  const layers = [...fitColors(small, edges), small.data];
  const full = new Uint8Array(photo.width * photo.height);
  const columns = interpolation(part.width, width);
  const rows = interpolation(part.height, height);
  // The layers between two rows, pixel by pixel.
  const row = new Float32Array(layers.length * width);
  for (let y = 0; y < part.height; y++) {
    const first = rows.index[y]! * width;
    const second = Math.min(height - 1, rows.index[y]! + 1) * width;
    const lower = rows.share[y]!;
    for (let x = 0; x < width; x++) {
      if (edges[first + x] === 0 && (x === 0 || edges[first + x - 1] === 0)) continue;
      for (let layer = 0; layer < layers.length; layer++) {
        const values = layers[layer]!;
        row[layers.length * x + layer] = values[first + x]! * (1 - lower) + values[second + x]! * lower;
      }
    }
    let at = (part.top + y) * photo.width + part.left;
    for (let x = 0; x < part.width; x++, at++) {
      const column = columns.index[x]!;
      if (edges[first + column] === 0) {
        full[at] = small.data[first + column]!;
        continue;
      }
      const left = layers.length * column;
      const right = layers.length * Math.min(width - 1, column + 1);
      const share = columns.share[x]!;
      const mix = (layer: number) => row[left + layer]! + (row[right + layer]! - row[left + layer]!) * share;
      const [r, g, b] = [photo.data[4 * at]!, photo.data[4 * at + 1]!, photo.data[4 * at + 2]!];
      const fitted = mix(0) * r + mix(1) * g + mix(2) * b + mix(3);
      const interpolated = mix(5);
      full[at] = Math.min(255, Math.max(0, interpolated + (fitted - interpolated) * mix(4) + 0.5));
    }
  }
  return { width: photo.width, height: photo.height, data: full };
}

/**
 * Fits, for each pixel of the matte, coverage as a function of the colors around it: factors of red, green and blue, a
 * constant, and how far to trust the function, 0..1, each [width·height]. Colors and coverage are in bytes.
 */
function fitColors({ width, height, data, colors }: SmallMatte, edges: Uint8Array): readonly Float32Array[] {
  const count = width * height;
  const blur = (values: Float32Array) => boxMean(values, width, height);
  const coverage = new Float32Array(data);
  const channels = [0, 1, 2].map((c) => {
    const channel = new Float32Array(count);
    for (let i = 0; i < count; i++) channel[i] = colors[3 * i + c]!;
    return channel;
  });
  const meanCoverage = blur(coverage);
  const means = channels.map(blur);
  const covariance = (a: Float32Array, b: Float32Array, meanA: Float32Array, meanB: Float32Array) => {
    const product = new Float32Array(count);
    for (let i = 0; i < count; i++) product[i] = a[i]! * b[i]!;
    const result = blur(product);
    for (let i = 0; i < count; i++) result[i] = result[i]! - meanA[i]! * meanB[i]!;
    return result;
  };
  const ofColors = (a: number, b: number) => covariance(channels[a]!, channels[b]!, means[a]!, means[b]!);
  const [rr, rg, rb] = [ofColors(0, 0), ofColors(0, 1), ofColors(0, 2)];
  const [gg, gb, bb] = [ofColors(1, 1), ofColors(1, 2), ofColors(2, 2)];
  const withCoverage = (c: number) => covariance(channels[c]!, coverage, means[c]!, meanCoverage);
  const [red, green, blue] = [withCoverage(0), withCoverage(1), withCoverage(2)];
  const constant = meanCoverage;
  const trust = covariance(coverage, coverage, meanCoverage, meanCoverage);

  const noise = noiseVariance * 255 * 255;
  for (let i = 0; i < count; i++) {
    // Without an edge, the coverage of the window is constant.
    if (edges[i] === 0) {
      red[i] = green[i] = blue[i] = trust[i] = 0;
      continue;
    }
    // Solves the symmetric 3 x 3 system by its adjugate.
    const a = rr[i]! + noise;
    const b = rg[i]!;
    const c = rb[i]!;
    const d = gg[i]! + noise;
    const e = gb[i]!;
    const f = bb[i]! + noise;
    const m00 = d * f - e * e;
    const m01 = c * e - b * f;
    const m02 = b * e - c * d;
    const m12 = b * c - a * e;
    const scale = 1 / (a * m00 + b * m01 + c * m02);
    const x = red[i]!;
    const y = green[i]!;
    const z = blue[i]!;
    red[i] = (m00 * x + m01 * y + m02 * z) * scale;
    green[i] = (m01 * x + (a * f - c * c) * y + m12 * z) * scale;
    blue[i] = (m02 * x + m12 * y + (a * d - b * b) * z) * scale;
    constant[i] = constant[i]! - red[i]! * means[0]![i]! - green[i]! * means[1]![i]! - blue[i]! * means[2]![i]!;
    const explained = x * red[i]! + y * green[i]! + z * blue[i]!;
    // The share of the variance of the coverage that color explains, squared.
    trust[i] = Math.min(1, explained / Math.max(1, trust[i]!)) ** 2;
  }
  return [red, green, blue, constant, trust].map(blur);
}

/** Marks the pixels whose window contains different values. */
function nearEdges({ width, height, data }: Matte): Uint8Array {
  const differs = new Float32Array(width * height);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const at = y * width + x;
      const right = x + 1 < width ? at + 1 : at;
      const below = y + 1 < height ? at + width : at;
      if (data[right] !== data[at] || data[below] !== data[at]) differs[at] = differs[right] = differs[below] = 1;
    }
  }
  const shares = boxMean(differs, width, height);
  const edges = new Uint8Array(shares.length);
  // The running sums of whole numbers are exact, so a window without differences has the mean 0.
  for (let i = 0; i < edges.length; i++) edges[i] = shares[i]! > 0 ? 1 : 0;
  return edges;
}

/** Returns, for each of `to` pixels, the nearest of `from` pixels before its center, and the share of the next one. */
function interpolation(to: number, from: number): { index: Int32Array; share: Float32Array } {
  const index = new Int32Array(to);
  const share = new Float32Array(to);
  for (let i = 0; i < to; i++) {
    const center = Math.min(from - 1, Math.max(0, ((i + 0.5) * from) / to - 0.5));
    index[i] = Math.floor(center);
    share[i] = center - index[i]!;
  }
  return { index, share };
}

/** Computes the mean of each pixel's window. At the border, the window is smaller. */
function boxMean(values: Float32Array, width: number, height: number): Float32Array {
  const rows = new Float32Array(values.length);
  for (let y = 0; y < height; y++) {
    const start = y * width;
    let sum = 0;
    for (let x = 0; x < Math.min(radius, width); x++) sum += values[start + x]!;
    for (let x = 0; x < width; x++) {
      if (x + radius < width) sum += values[start + x + radius]!;
      if (x > radius) sum -= values[start + x - radius - 1]!;
      rows[start + x] = sum;
    }
  }
  const scales = Float64Array.from({ length: width }, (_, x) => 1 / windowLength(x, width));
  const result = new Float32Array(values.length);
  const sums = new Float64Array(width);
  for (let y = -radius; y < height; y++) {
    const entering = y + radius < height ? (y + radius) * width : -1;
    const leaving = y > radius ? (y - radius - 1) * width : -1;
    const scale = 1 / windowLength(y, height);
    for (let x = 0; x < width; x++) {
      let sum = sums[x]!;
      if (entering >= 0) sum += rows[entering + x]!;
      if (leaving >= 0) sum -= rows[leaving + x]!;
      sums[x] = sum;
      if (y >= 0) result[y * width + x] = sum * scale * scales[x]!;
    }
  }
  return result;
}

const windowLength = (center: number, length: number) =>
  Math.min(length - 1, center + radius) - Math.max(0, center - radius) + 1;
