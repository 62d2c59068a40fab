import { EngineError } from '../base/errors.js';
import type { Cutout, Matte, RgbaImage } from '../base/image.js';
import type { ReconstructionManifest } from '../bundle/manifest.js';
import { foregroundColors, type Planes } from './foreground-colors.js';
import { type Plane, resample, type Window } from './resample.js';

export interface FrameOptions {
  /** Longer side of the object's box / side of the frame: the bundle's `input.foregroundRatio`. */
  readonly foregroundRatio: number;
  /** The frame has at most so many pixels a side. Fewer when the object is smaller on the photo; never fewer than 512. */
  readonly maxSize: number;
}

/** A silhouette cut from fewer pixels has visible steps, and scaling up here is smoother than anything later. */
const minSize = 512;

/** Coverage above which a pixel belongs to the object's box. */
const boxThreshold = 100;

/**
 * Cuts the object out of the photo, into the middle of a square that is `foregroundRatio` wider than it.
 *
 * @throws {EngineError} no_foreground if no pixel of the matte is above 100
 */
export function frame(image: RgbaImage, matte: Matte, { foregroundRatio, maxSize }: FrameOptions): Cutout {
  const window = windowAround(matte, foregroundRatio);
  const size = Math.min(maxSize, Math.max(minSize, Math.ceil(window.side)));
  const alpha = resample(alphaPlane(matte), window, size, 0);
  const photo = opaquePlanes(image, matte).map((plane) => resample(plane, window, size)) as unknown as Planes;
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
 * A cut-out as a network wants it: planar float32 [channels, size, size], RGB over the grey background, in the
 * manifest's range of values; a fourth channel is the matte in 0..1.
 */
export function toInput({ image }: Cutout, input: ReconstructionManifest['input']): Float32Array {
  const { width, height, data } = image;
  const { size, channels, mean, std } = input;
  const background = 255 * input.background;
  const window = { left: 0, top: 0, side: width };
  const count = size * size;
  const values = new Float32Array(channels * count);
  const plane = new Float32Array(width * height);
  for (let c = 0; c < 3; c++) {
    // Over the background first, averaged after: so a colour weighs as much as there is of it.
    for (let i = 0; i < plane.length; i++) {
      const share = data[4 * i + 3]! / 255;
      plane[i] = data[4 * i + c]! * share + background * (1 - share);
    }
    const scaled = resample({ width, height, data: plane }, window, size);
    for (let i = 0; i < count; i++) values[c * count + i] = (scaled[i]! - mean[c]!) / std[c]!;
  }
  if (channels === 4) {
    for (let i = 0; i < plane.length; i++) plane[i] = data[4 * i + 3]! / 255;
    values.set(resample({ width, height, data: plane }, window, size), 3 * count);
  }
  return values;
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

function alphaPlane({ width, height, data }: Matte): Plane {
  const alpha = new Float32Array(data.length);
  for (let i = 0; i < alpha.length; i++) alpha[i] = data[i]! / 255;
  return { width, height, data: alpha };
}

/**
 * The picture as it would look with nothing transparent. A photo is that already. Under a cut-out goes the mean colour of
 * the object itself, so that the same estimate removes it again, and what it leaves cannot be seen.
 */
function opaquePlanes({ width, height, data }: RgbaImage, matte: Matte): readonly Plane[] {
  const count = width * height;
  return [0, 1, 2].map((c) => {
    let sum = 0;
    let total = 1e-6;
    for (let i = 0; i < count; i++) {
      sum += data[4 * i + c]! * matte.data[i]!;
      total += matte.data[i]!;
    }
    const mean = sum / total;
    const plane = new Float32Array(count);
    for (let i = 0; i < count; i++) {
      const share = data[4 * i + 3]! / 255;
      plane[i] = data[4 * i + c]! * share + mean * (1 - share);
    }
    return { width, height, data: plane };
  });
}
