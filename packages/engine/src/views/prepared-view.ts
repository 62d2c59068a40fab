import { clamp } from '../base/interpolation.js';
import type { ColumnsPrediction } from '../field/columns-prediction.js';
import { colorChannels, type FramedCutout, matteChannel } from '../photo/frame.js';
import { mapSize } from './map.js';

/** A photo's outline, its relief as the network predicts it, and its colors, as photos are compared by them. */
export interface PreparedView {
  readonly cutout: FramedCutout;
  readonly prediction: ColumnsPrediction;
  /** Half the width of the frame in the middle of the relief, in the network's units of depth. */
  readonly halfWidth: number;
  /** The share of the photo's width that the frame covers. Photos of one lens differ by it in their field of view. */
  readonly crop: number;
  /** [mapSize²] signed distance inside the outline in units of the frame, as photographed. */
  readonly outline: Float32Array;
  /** [mapSize²] the same with thin parts widened. */
  readonly wideOutline: Float32Array;
  /** [mapSize²] depth of the front, toward the camera, in the network's units. */
  readonly front: Float32Array;
  /** [mapSize²] depth at which the network guesses that the object ends behind the front. */
  readonly back: Float32Array;
  /** [mapSize²] trust in the front, 0..1. */
  readonly trust: Float32Array;
  /** [3·colorSize²] channels of blurred colors, sRGB in 0..1. */
  readonly colors: Float32Array;
  /** [levels³] the shares of colors in the object, wherever they are. */
  readonly palette: Float32Array;
  /** The angle by which the camera looked down, as the network guesses it. */
  readonly elevationRadians: number;
}

/** Pixels a side of the colors that are compared. Details are left out, because shapes are aligned only roughly. */
export const colorSize = 64;

/** Levels of each channel in a palette. A color between levels counts for both, so that light hardly changes it. */
const levels = 5;
/** Pixels that are covered less have the background's colors. */
const minCoverage = 0.95;

/** The front has no trust up to this distance inside the outline, and full trust from the second one on. */
const noTrustInset = 0.01;
const fullTrustInset = 0.04;

/** A front that is this steep has half the trust. */
const halfTrustSlope = 2;

/** @param photoWidth in pixels, of the photo that the cutout is from */
export function prepareView(cutout: FramedCutout, photoWidth: number, prediction: ColumnsPrediction): PreparedView {
  const { halfWidth, halfDepth, steps } = prediction.manifest.decoder;
  const [colors, matte] = [colorChannels(cutout, colorSize), matteChannel(cutout, colorSize)];
  const toFrame = (pixels: number) => (pixels * 2) / mapSize;
  const front = prediction.front.map((depth) => -depth * halfWidth * halfDepth);
  const outline = prediction.photographed.map(toFrame);
  return {
    ...{ cutout, prediction, halfWidth, outline, front },
    crop: cutout.window.side / photoWidth,
    wideOutline: prediction.widened.map(toFrame),
    back: backOf(front, prediction, (2 * halfWidth * halfDepth) / steps),
    trust: trustOf(front, outline, halfWidth),
    colors: blurredColors(colors, matte),
    palette: paletteOf(colors, matte),
    elevationRadians: prediction.elevationRadians ?? 0.26,
  };
}

/** Trust is low near the outline, where colors and depths mix with the background's, and where the front is steep. */
function trustOf(front: Float32Array, outline: Float32Array, halfWidth: number): Float32Array {
  const pixel = (2 * halfWidth) / mapSize;
  return front.map((depth, i) => {
    const [x, y] = [i % mapSize, Math.floor(i / mapSize)];
    if (x < 2 || y < 2 || x > mapSize - 3 || y > mapSize - 3 || outline[i]! <= 0) return 0;
    let slope = 0;
    for (const j of [i - 2, i + 2, i - 2 * mapSize, i + 2 * mapSize]) {
      slope = Math.max(slope, Math.abs(front[j]! - depth) / (2 * pixel));
    }
    const inset = clamp((outline[i]! - noTrustInset) / (fullTrustInset - noTrustInset), 0, 1);
    return inset / (1 + (slope / halfTrustSlope) ** 2);
  });
}

/** Follows each column from its front to the first step that is probably empty. */
function backOf(front: Float32Array, { occupancy, size, manifest }: ColumnsPrediction, step: number): Float32Array {
  const { steps } = manifest.decoder;
  return front.map((depth, i) => {
    const column = Math.floor(((i % mapSize) * size) / mapSize);
    const row = Math.floor((Math.floor(i / mapSize) * size) / mapSize);
    let k = 1;
    while (k < steps && occupancy[(k * size + row) * size + column]! > 0) k++;
    return depth - k * step;
  });
}

/** Blurs colors [colorSize², 3] within the matte, and returns their channels one after the other. */
function blurredColors(colors: Float32Array, matte: Float32Array): Float32Array {
  const count = colorSize * colorSize;
  const blurred = new Float32Array(3 * count);
  const kernel = [1, 4, 6, 4, 1];
  for (let i = 0; i < count; i++) {
    let total = 0;
    for (let n = 0; n < 25; n++) {
      const x = (i % colorSize) + (n % 5) - 2;
      const y = Math.floor(i / colorSize) + Math.floor(n / 5) - 2;
      if (x < 0 || y < 0 || x >= colorSize || y >= colorSize) continue;
      const j = y * colorSize + x;
      // A little of the background, so that pixels far from the object have a color, too.
      const weight = kernel[n % 5]! * kernel[Math.floor(n / 5)]! * (matte[j]! + 1e-4);
      total += weight;
      for (let c = 0; c < 3; c++) blurred[c * count + i]! += weight * colors[3 * j + c]!;
    }
    for (let c = 0; c < 3; c++) blurred[c * count + i]! /= total;
  }
  return blurred;
}

/** @param colors [colorSize², 3] */
function paletteOf(colors: Float32Array, matte: Float32Array): Float32Array {
  const palette = new Float32Array(levels ** 3);
  for (let i = 0; i < matte.length; i++) {
    if (matte[i]! < minCoverage) continue;
    for (let corner = 0; corner < 8; corner++) {
      let [weight, color] = [1, 0];
      for (let c = 0; c < 3; c++) {
        const level = colors[3 * i + c]! * (levels - 1);
        const lower = Math.min(Math.floor(level), levels - 2);
        const isUpper = (corner >> c) & 1;
        weight *= isUpper ? level - lower : 1 - (level - lower);
        color = color * levels + lower + isUpper;
      }
      palette[color]! += weight;
    }
  }
  const sum = palette.reduce((total, weight) => total + weight, 0);
  return palette.map((weight) => weight / Math.max(sum, 1));
}
