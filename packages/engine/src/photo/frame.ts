import { EngineError } from '../base/errors.js';
import type { Cutout, Matte, RgbaImage } from '../base/image.js';
import type { ReconstructionManifest } from '../bundle/manifest.js';
import { foregroundColors, type RgbChannels } from './foreground-colors.js';
import { type Channel, resample, type Window } from './resample.js';

export interface FrameOptions {
  /** Longer side of the object's box / side of the frame: the bundle's `input.foregroundRatio`. */
  readonly foregroundRatio: number;
  /** Maximum pixels a side. The frame has fewer if the object is smaller on the photo, and at least 512. */
  readonly maxSize: number;
}

/** Fewer pixels give a silhouette with visible steps. Scaling up here is smoother than at any later stage. */
const minSize = 512;

/** A pixel above this coverage belongs to the object's box. */
const boxThreshold = 100;

/**
 * Cuts the object out of the photo, into the middle of a square `1 / foregroundRatio` times as wide as the object.
 *
 * @throws {EngineError} no_foreground if no pixel of the matte is above 100
 */
export function frame(image: RgbaImage, matte: Matte, { foregroundRatio, maxSize }: FrameOptions): Cutout {
  const window = windowAround(matte, foregroundRatio);
  const size = Math.min(maxSize, Math.max(minSize, Math.ceil(window.side)));
  const alpha = resample(toChannel(matte), window, size, 0);
  const photo = opaqueChannels(image, matte).map((channel) =>
    resample(channel, window, size),
  ) as unknown as RgbChannels;
  const [red, green, blue] = foregroundColors(photo, alpha, size);

  const data = new Uint8Array(4 * size * size);
  for (let i = 0; i < alpha.length; i++) {
    data[4 * i] = Math.round(red[i]!);
    data[4 * i + 1] = Math.round(green[i]!);
    data[4 * i + 2] = Math.round(blue[i]!);
    data[4 * i + 3] = Math.round(255 * alpha[i]!);
  }
  return { image: { width: size, height: size, data } };
}

/**
 * The cutout as a network's input: planar float32 [channels, size, size], RGB over the gray background, in the
 * manifest's range of values. A fourth channel is the matte in 0..1.
 */
export function toInput({ image }: Cutout, input: ReconstructionManifest['input']): Float32Array {
  const { width, height, data } = image;
  const { size, channels, mean, std } = input;
  const background = 255 * input.background;
  const window = { left: 0, top: 0, side: width };
  const count = size * size;
  const values = new Float32Array(channels * count);
  const channel = new Float32Array(width * height);
  for (let c = 0; c < 3; c++) {
    // Composited before it is averaged, so that each color counts by its coverage.
    for (let i = 0; i < channel.length; i++) {
      const share = data[4 * i + 3]! / 255;
      channel[i] = data[4 * i + c]! * share + background * (1 - share);
    }
    const scaled = resample({ width, height, data: channel }, window, size);
    for (let i = 0; i < count; i++) values[c * count + i] = (scaled[i]! - mean[c]!) / std[c]!;
  }
  if (channels === 4) values.set(resample(alphaChannel(image), window, size), 3 * count);
  return values;
}

/** The matte of a framed cutout in 0..1, averaged down or interpolated up to [size·size]. */
export const matteChannel = ({ image }: Cutout, size: number): Float32Array =>
  resample(alphaChannel(image), { left: 0, top: 0, side: image.width }, size, 0);

function alphaChannel({ width, height, data }: RgbaImage): Channel {
  const alpha = new Float32Array(width * height);
  for (let i = 0; i < alpha.length; i++) alpha[i] = data[4 * i + 3]! / 255;
  return { width, height, data: alpha };
}

function windowAround({ width, height, data }: Matte, foregroundRatio: number): Window {
  let [left, top, right, bottom] = [width, height, 0, 0];
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      if (data[y * width + x]! <= boxThreshold) continue;
      if (x < left) left = x;
      if (x >= right) right = x + 1;
      if (y < top) top = y;
      bottom = y + 1;
    }
  }
  if (right === 0) throw new EngineError('no_foreground', 'No object stands out from the background of this image.');
  const side = Math.max(right - left, bottom - top) / foregroundRatio;
  return { left: (left + right - side) / 2, top: (top + bottom - side) / 2, side };
}

const toChannel = ({ width, height, data }: Matte): Channel => ({
  width,
  height,
  data: new Float32Array(data).map((coverage) => coverage / 255),
});

/**
 * The image without transparency, as three channels. A cutout is composited over the object's mean color, which the
 * estimate of foreground colors removes again with an invisible error.
 */
function opaqueChannels({ width, height, data }: RgbaImage, matte: Matte): readonly Channel[] {
  const count = width * height;
  return [0, 1, 2].map((c) => {
    let sum = 0;
    let total = 1e-6;
    for (let i = 0; i < count; i++) {
      sum += data[4 * i + c]! * matte.data[i]!;
      total += matte.data[i]!;
    }
    const mean = sum / total;
    const channel = new Float32Array(count);
    for (let i = 0; i < count; i++) {
      const share = data[4 * i + 3]! / 255;
      channel[i] = data[4 * i + c]! * share + mean * (1 - share);
    }
    return { width, height, data: channel };
  });
}
