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
 * @param photo [3·size·size] in 0..255, with the channels interleaved, as in the result
 * @param alpha [size·size] in 0..1
 * @see Germer, Uelwer, Conrad and Harmeling, "Fast Multi-Level Foreground Estimation", ICPR 2020
 */
export function foregroundColors(photo: Float32Array, alpha: Float32Array, size: number): Float32Array {
  let levelSize = 1;
  let [foreground, background] = weightedMeans(photo, alpha);
  const levels = Math.max(1, Math.ceil(Math.log2(size)));
  for (let level = 1; level <= levels; level++) {
    const previous = levelSize;
    levelSize = level === levels ? size : Math.round(size ** (level / levels));
    foreground = nearest(foreground, 3, previous, levelSize);
    background = nearest(background, 3, previous, levelSize);
    const iterations = levelSize <= smallLevel ? smallIterations : largeIterations;
    const levelPhoto = nearest(photo, 3, size, levelSize);
    const levelAlpha = nearest(alpha, 1, size, levelSize);
    for (let n = 0; n < iterations; n++) relax(levelPhoto, levelAlpha, foreground, background, levelSize);
  }
  return foreground;
}

/** Computes the mean color of the photo, weighted by alpha and by 1 - alpha. */
function weightedMeans(photo: Float32Array, alpha: Float32Array): [foreground: Float32Array, background: Float32Array] {
  const foreground = new Float64Array(3);
  const all = new Float64Array(3);
  let total = 0;
  for (let i = 0; i < alpha.length; i++) {
    const weight = alpha[i]!;
    total += weight;
    const red = photo[3 * i]!;
    const green = photo[3 * i + 1]!;
    const blue = photo[3 * i + 2]!;
    foreground[0]! += weight * red;
    foreground[1]! += weight * green;
    foreground[2]! += weight * blue;
    all[0]! += red;
    all[1]! += green;
    all[2]! += blue;
  }
  const background = all.map((sum, c) => sum - foreground[c]!);
  const mean = (sums: Float64Array, weight: number) => Float32Array.from(sums, (sum) => sum / (weight + 1e-6));
  return [mean(foreground, total), mean(background, alpha.length - total)];
}

/** Scales a square image to `to` pixels a side. */
function nearest(image: Float32Array, channels: 1 | 3, from: number, to: number): Float32Array {
  if (from === to) return image;
  const pixels = Int32Array.from({ length: to }, (_, i) => Math.floor(((i + 0.5) * from) / to));
  const result = new Float32Array(channels * to * to);
  const width = channels * to;
  for (let y = 0; y < to; y++) {
    if (y > 0 && pixels[y] === pixels[y - 1]) {
      result.copyWithin(y * width, (y - 1) * width, y * width);
      continue;
    }
    const row = pixels[y]! * from;
    let at = y * width;
    for (let x = 0; x < to; x++) {
      const pixel = channels * (row + pixels[x]!);
      result[at++] = image[pixel]!;
      if (channels === 1) continue;
      result[at++] = image[pixel + 1]!;
      result[at++] = image[pixel + 2]!;
    }
  }
  return result;
}

/**
 * A pass of Gauss-Seidel, in place: solves the 2 x 2 system of each pixel's foreground and background with fixed
 * neighbors.
 */
function relax(
  photo: Float32Array,
  alpha: Float32Array,
  foreground: Float32Array,
  background: Float32Array,
  size: number,
): void {
  for (let y = 0; y < size; y++) {
    const rowUp = y > 0 ? -size : 0;
    const rowDown = y + 1 < size ? size : 0;
    for (let x = 0; x < size; x++) {
      const at = y * size + x;
      const left = x > 0 ? at - 1 : at;
      const right = x + 1 < size ? at + 1 : at;
      const up = at + rowUp;
      const down = at + rowDown;
      const a = alpha[at]!;
      const i = 3 * at;
      const l = 3 * left;
      const r = 3 * right;
      const u = 3 * up;
      const d = 3 * down;
      if ((a === 0 || a === 1) && alpha[left] === a && alpha[right] === a && alpha[up] === a && alpha[down] === a) {
        // Most pixels. Smoothing moves the color that the photo shows by at most 0.01, and the colors hidden behind the
        // middle of the object have no effect. Computing only the rest takes less than half the time.
        if (a === 1) {
          foreground[i] = photo[i]!;
          foreground[i + 1] = photo[i + 1]!;
          foreground[i + 2] = photo[i + 2]!;
        } else {
          background[i] = photo[i]!;
          background[i + 1] = photo[i + 1]!;
          background[i + 2] = photo[i + 2]!;
          foreground[i] = (foreground[l]! + foreground[r]! + foreground[u]! + foreground[d]!) * 0.25;
          foreground[i + 1] =
            (foreground[l + 1]! + foreground[r + 1]! + foreground[u + 1]! + foreground[d + 1]!) * 0.25;
          foreground[i + 2] =
            (foreground[l + 2]! + foreground[r + 2]! + foreground[u + 2]! + foreground[d + 2]!) * 0.25;
        }
        continue;
      }

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
        const value = photo[i + c]!;
        const r0 =
          a * value +
          toLeft * foreground[l + c]! +
          toRight * foreground[r + c]! +
          toUp * foreground[u + c]! +
          toDown * foreground[d + c]!;
        const r1 =
          b * value +
          toLeft * background[l + c]! +
          toRight * background[r + c]! +
          toUp * background[u + c]! +
          toDown * background[d + c]!;
        foreground[i + c] = byteRange((m11 * r0 - m01 * r1) * inverse);
        background[i + c] = byteRange((m00 * r1 - m01 * r0) * inverse);
      }
    }
  }
}

const byteRange = (value: number) => Math.min(255, Math.max(0, value));
