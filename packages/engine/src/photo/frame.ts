import { boundsOf, type Cutout, type Matte, type RgbaImage } from '../base/image.js';
import type { ReconstructionManifest } from '../bundle/manifest.js';
import { foregroundColors } from './foreground-colors.js';
import { noForeground } from './matte.js';
import { type FloatImage, resample, type Window } from './resample.js';

export interface FrameOptions {
  /** The longer side of the object's box divided by the side of the frame: the bundle's `input.foregroundRatio`. */
  readonly foregroundRatio: number;
  /** Maximum pixels a side. The frame has fewer if the object is smaller on the photo, and at least 512. */
  readonly maxSize: number;
}

export interface FramedCutout extends Cutout {
  /** The frame in pixels of the photo. It may extend beyond the photo. */
  readonly window: Window;
}

/** Fewer pixels give a silhouette with visible steps. Scaling up here is smoother than at any later stage. */
const minSize = 512;

/** An object without a pixel of at least this coverage is not visible. */
const visibleCoverage = 101;

/**
 * Cuts the object out of the photo, into the middle of a square `1 / foregroundRatio` times as wide as the object.
 *
 * @throws {EngineError} no_foreground if no pixel of the matte is above 100
 */
export function frame(image: RgbaImage, matte: Matte, { foregroundRatio, maxSize }: FrameOptions): FramedCutout {
  const window = windowAround(matte, { foregroundRatio, maxSize });
  const size = Math.min(maxSize, Math.max(minSize, Math.ceil(window.side)));
  const used = crop(image, matte, window);
  const coverage = shares(used.matte.width, used.matte.height, used.matte.data);
  const colored = opaque(used.image, used.matte);
  const alpha = resample(coverage, used.window, size, 'zero');
  const photo = resample(colored, used.window, size, 'edge');
  const colors = foregroundColors(photo, alpha, size);

  const data = new Uint8Array(4 * size * size);
  for (let i = 0; i < alpha.length; i++) {
    // Adding 0.5 rounds, because storing a byte cuts off the fraction.
    data[4 * i] = colors[3 * i]! + 0.5;
    data[4 * i + 1] = colors[3 * i + 1]! + 0.5;
    data[4 * i + 2] = colors[3 * i + 2]! + 0.5;
    data[4 * i + 3] = 255 * alpha[i]! + 0.5;
  }
  return { image: { width: size, height: size, data }, window };
}

/**
 * Converts the cutout to a network's input: planar float32 [channels, size, size], RGB over the gray background, in the
 * manifest's range of values. A fourth channel is the matte in 0..1.
 */
export function toInput({ image }: Cutout, input: ReconstructionManifest['input']): Float32Array {
  const { width, height, data } = image;
  const { size, channels, mean, std } = input;
  const background = 255 * input.background;
  const window = { left: 0, top: 0, side: width };
  const count = size * size;
  const composited = new Float32Array(3 * width * height);
  // Composited before it is averaged, so that each color counts by its coverage.
  for (let i = 0; i < width * height; i++) {
    const share = data[4 * i + 3]! / 255;
    for (let c = 0; c < 3; c++) composited[3 * i + c] = data[4 * i + c]! * share + background * (1 - share);
  }
  const scaled = resample({ width, height, channels: 3, data: composited }, window, size, 'edge');
  const values = new Float32Array(channels * count);
  for (let c = 0; c < 3; c++) {
    for (let i = 0; i < count; i++) values[c * count + i] = (scaled[3 * i + c]! - mean[c]!) / std[c]!;
  }
  if (channels === 4) values.set(resample(alphaChannel(image), window, size, 'edge'), 3 * count);
  return values;
}

/** Returns the matte of a framed cutout in 0..1, averaged down or interpolated up to [size·size]. */
export const matteChannel = ({ image }: Cutout, size: number): Float32Array =>
  resample(alphaChannel(image), { left: 0, top: 0, side: image.width }, size, 'zero');

/** Returns the colors of a framed cutout, [3·size·size], sRGB in 0..1. */
export function colorChannels({ image: { width, height, data } }: Cutout, size: number): Float32Array {
  const colors = new Float32Array(3 * width * height);
  for (let i = 0; i < width * height; i++) {
    for (let c = 0; c < 3; c++) colors[3 * i + c] = data[4 * i + c]! / 255;
  }
  return resample({ width, height, channels: 3, data: colors }, { left: 0, top: 0, side: width }, size, 'edge');
}

const alphaChannel = ({ width, height, data }: RgbaImage): FloatImage => shares(width, height, data, 4, 3);

/** Converts every `stride`-th byte, from `first` on, to 0..1. */
function shares(width: number, height: number, bytes: Uint8Array, stride = 1, first = 0): FloatImage {
  const data = new Float32Array(width * height);
  for (let i = 0; i < data.length; i++) data[i] = bytes[stride * i + first]! / 255;
  return { width, height, channels: 1, data };
}

function windowAround(matte: Matte, { foregroundRatio, maxSize }: FrameOptions): Window {
  // The soft edge belongs to the box, as in the code that TripoSR and TripoSG were published with.
  const bounds = boundsOf(matte, visibleCoverage) && boundsOf(matte, 1);
  if (!bounds) throw noForeground(matte);
  const { left, top, right, bottom } = bounds;
  const side = Math.max(right - left, bottom - top) / foregroundRatio;
  // A frame of whole pixels is copied, which keeps it sharp. The others are resampled.
  const whole = Math.ceil(side);
  const copied = whole >= minSize && whole <= maxSize;
  const round = (position: number) => (copied ? Math.floor(position) : position);
  const used = copied ? whole : side;
  return { left: round((left + right - used) / 2), top: round((top + bottom - used) / 2), side: used };
}

/** Cuts out the pixels that resampling a window uses: those in it, and one more on each side for interpolation. */
function crop(image: RgbaImage, matte: Matte, window: Window): { image: RgbaImage; matte: Matte; window: Window } {
  const left = Math.max(0, Math.floor(window.left) - 1);
  const top = Math.max(0, Math.floor(window.top) - 1);
  const width = Math.min(image.width, Math.ceil(window.left + window.side) + 1) - left;
  const height = Math.min(image.height, Math.ceil(window.top + window.side) + 1) - top;
  const pixels = new Uint8Array(4 * width * height);
  const coverages = new Uint8Array(width * height);
  for (let y = 0; y < height; y++) {
    const from = (top + y) * image.width + left;
    pixels.set(image.data.subarray(4 * from, 4 * (from + width)), 4 * y * width);
    coverages.set(matte.data.subarray(from, from + width), y * width);
  }
  return {
    image: { width, height, data: pixels },
    matte: { width, height, data: coverages },
    window: { left: window.left - left, top: window.top - top, side: window.side },
  };
}

/**
 * Removes the image's transparency. A cutout is composited over the object's mean color, which the estimate of
 * foreground colors removes again with an invisible error.
 */
function opaque({ width, height, data }: RgbaImage, matte: Matte): FloatImage {
  let weights = 1e-6;
  let [red, green, blue] = [0, 0, 0];
  for (let i = 0; i < matte.data.length; i++) {
    const weight = matte.data[i]!;
    if (weight === 0) continue;
    weights += weight;
    red += data[4 * i]! * weight;
    green += data[4 * i + 1]! * weight;
    blue += data[4 * i + 2]! * weight;
  }
  red /= weights;
  green /= weights;
  blue /= weights;
  const colors = new Float32Array(3 * width * height);
  for (let i = 0; i < width * height; i++) {
    const share = data[4 * i + 3]! / 255;
    const rest = 1 - share;
    colors[3 * i] = data[4 * i]! * share + red * rest;
    colors[3 * i + 1] = data[4 * i + 1]! * share + green * rest;
    colors[3 * i + 2] = data[4 * i + 2]! * share + blue * rest;
  }
  return { width, height, channels: 3, data: colors };
}
