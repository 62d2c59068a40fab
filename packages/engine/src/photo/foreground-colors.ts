/** Red, green and blue, each [size·size], in 0..255. */
export type RgbChannels = readonly [Float32Array, Float32Array, Float32Array];

// The paper's settings. With alpha in 0..1, the first makes flat regions follow their neighbors, and the second lets
// colors change along the outline only together with alpha.
const smoothness = 1e-5;
const gradientWeight = 1;
const smallLevel = 32;
const smallIterations = 10;
const largeIterations = 2;

/**
 * Estimates the object's own colors in a photo: solves photo = alpha · foreground + (1 - alpha) · background for a
 * foreground and a background that are smooth where alpha is, from one pixel up through growing sizes.
 *
 * Where alpha is 0, the colors of the nearest parts of the object spread, so that sampling next to the silhouette never
 * picks up background.
 * @param photo a square image of `size` pixels a side
 * @param alpha [size·size] in 0..1
 * @see Germer, Uelwer, Conrad and Harmeling, "Fast Multi-Level Foreground Estimation", ICPR 2020
 */
export function foregroundColors(photo: RgbChannels, alpha: Float32Array, size: number): RgbChannels {
  let levelSize = 1;
  let foreground = photo.map((channel) => Float32Array.of(weightedMean(channel, alpha, 1))) as unknown as RgbChannels;
  let background = photo.map((channel) => Float32Array.of(weightedMean(channel, alpha, -1))) as unknown as RgbChannels;
  const levels = Math.max(1, Math.ceil(Math.log2(size)));
  for (let level = 1; level <= levels; level++) {
    const previous = levelSize;
    levelSize = level === levels ? size : Math.round(size ** (level / levels));
    const pick = (channels: RgbChannels, from: number) =>
      channels.map((channel) => nearest(channel, from, levelSize)) as unknown as RgbChannels;
    foreground = pick(foreground, previous);
    background = pick(background, previous);
    const iterations = levelSize <= smallLevel ? smallIterations : largeIterations;
    solve(pick(photo, size), nearest(alpha, size, levelSize), foreground, background, levelSize, iterations);
  }
  return foreground;
}

/** The mean of a channel, weighted by alpha (sign 1) or by 1 - alpha (sign -1). */
function weightedMean(channel: Float32Array, alpha: Float32Array, sign: 1 | -1): number {
  let sum = 0;
  let total = 1e-6;
  for (let i = 0; i < channel.length; i++) {
    const weight = sign === 1 ? alpha[i]! : 1 - alpha[i]!;
    sum += weight * channel[i]!;
    total += weight;
  }
  return sum / total;
}

function nearest(channel: Float32Array, from: number, to: number): Float32Array {
  if (from === to) return channel;
  const result = new Float32Array(to * to);
  for (let y = 0; y < to; y++) {
    const row = Math.floor(((y + 0.5) * from) / to) * from;
    for (let x = 0; x < to; x++) result[y * to + x] = channel[row + Math.floor(((x + 0.5) * from) / to)]!;
  }
  return result;
}

/** Gauss-Seidel, in place: solves the 2 x 2 system of each pixel's foreground and background with fixed neighbors. */
function solve(
  photo: RgbChannels,
  alpha: Float32Array,
  fore: RgbChannels,
  back: RgbChannels,
  size: number,
  iterations: number,
): void {
  for (let iteration = 0; iteration < iterations; iteration++) {
    for (let y = 0; y < size; y++) {
      for (let x = 0; x < size; x++) {
        const at = y * size + x;
        const left = x > 0 ? at - 1 : at;
        const right = x + 1 < size ? at + 1 : at;
        const up = y > 0 ? at - size : at;
        const down = y + 1 < size ? at + size : at;

        const a = alpha[at]!;
        const b = 1 - a;
        const toLeft = smoothness + gradientWeight * Math.abs(a - alpha[left]!);
        const toRight = smoothness + gradientWeight * Math.abs(a - alpha[right]!);
        const toUp = smoothness + gradientWeight * Math.abs(a - alpha[up]!);
        const toDown = smoothness + gradientWeight * Math.abs(a - alpha[down]!);
        const total = toLeft + toRight + toUp + toDown;

        const m00 = a * a + total;
        const m01 = a * b;
        const m11 = b * b + total;
        const inverse = 1 / (m00 * m11 - m01 * m01);
        for (let c = 0; c < 3; c++) {
          const f = fore[c]!;
          const g = back[c]!;
          const value = photo[c]![at]!;
          const r0 = a * value + toLeft * f[left]! + toRight * f[right]! + toUp * f[up]! + toDown * f[down]!;
          const r1 = b * value + toLeft * g[left]! + toRight * g[right]! + toUp * g[up]! + toDown * g[down]!;
          f[at] = byteRange((m11 * r0 - m01 * r1) * inverse);
          g[at] = byteRange((m00 * r1 - m01 * r0) * inverse);
        }
      }
    }
  }
}

const byteRange = (value: number) => Math.min(255, Math.max(0, value));
