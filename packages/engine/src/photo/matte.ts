import { BundleError, EngineError } from '../base/errors.js';
import { edgeCounts, type Matte, type RgbaImage } from '../base/image.js';
import { sharp } from '../base/sharp.js';
import type { Bundle } from '../bundle/load-bundle.js';
import type { MatteManifest } from '../bundle/manifest.js';
import { type OpenSession, openMatting } from '../network/session.js';
import { cleanMatte } from './clean-matte.js';
import type { DecodedPhoto } from './decode.js';
import type { Rectangle } from './enlarge-matte.js';
import { findObject } from './find-object.js';
import { frameOf, hasMargin, putBack, takeOut } from './framed-photo.js';

/** Finds the object of an opaque image. Returns a matte of the image's size, or undefined if there is no object. */
export type PredictMatte = (image: RgbaImage) => Promise<Matte | undefined>;

export interface MattingNetwork {
  readonly predict: PredictMatte;
  release(): Promise<void>;
}

/** Opens a matting network. Reuse it: opening takes half a second and 400 MB, and leaks a little each time. */
export async function openMattingNetwork(bundle: Bundle<MatteManifest>, open?: OpenSession): Promise<MattingNetwork> {
  const { input, output } = bundle.manifest;
  const session = await openMatting(bundle, open);
  return {
    predict: (image) =>
      findObject(image, input, async (part, size) => {
        const colors = await scaleToSquare(image, part, size);
        const tensor = { shape: [1, 3, size, size], data: toPlanar(colors, input) };
        const coverage = (await session.run({ [input.tensor]: tensor })).get(output)!;
        if (coverage.length !== size * size) {
          const found = `${coverage.length} values for an image of ${size} x ${size} pixels`;
          throw new BundleError(`${bundle.manifest.name}: the output "${output}" has ${found}`);
        }
        return { width: size, height: size, data: toBytes(coverage), colors };
      }),
    release: () => session.release(),
  };
}

export interface FoundMatte {
  /** Of the photo's size. */
  readonly matte: Matte;
  /** Whether the image's transparency may be the frame of a photo, in which no single object was found. */
  readonly isFramed: boolean;
}

/**
 * Computes the matte of a photo.
 *
 * If the image's alpha already cuts out the object, alpha is the matte. Otherwise `predict` finds the object, and
 * transparent parts stay transparent. If the outline is a rectangle, `predict` looks for an object in it, and alpha is the
 * matte only if there is none with a margin around it.
 * @throws {EngineError} no_foreground if there is no visible object
 */
export async function matte({ image, transparent }: DecodedPhoto, predict: PredictMatte): Promise<FoundMatte> {
  if (!transparent) return { matte: found(await predict(image), image), isFramed: false };
  const alpha = alphaOf(image);
  if (!alpha.data.some((value) => value >= minVisibleAlpha)) {
    throw new EngineError(
      'no_foreground',
      'This image is fully transparent. Send an opaque photo, or a cutout that shows the object.',
    );
  }
  if (!cutsOut(alpha)) return { matte: await predictVisible(image, alpha, predict), isFramed: false };

  const frame = frameOf(alpha);
  const object = frame && (await findInside(image, frame, predict));
  return {
    matte: found(object ?? cleanMatte(alpha), image),
    isFramed: frame !== undefined && object === undefined,
  };
}

/** Below this, a pixel is invisible on white. */
const minVisibleAlpha = 24;

/** A pixel of at least this coverage belongs to the object. */
const minObjectCoverage = 128;

/** Finds the object of the photo in a frame, if it has one with a margin and a usable matting network is installed. */
async function findInside(image: RgbaImage, frame: Rectangle, predict: PredictMatte) {
  const object = await predict(takeOut(image, frame)).catch((error: unknown) => {
    if (error instanceof EngineError && error.cause instanceof BundleError) return undefined;
    throw error;
  });
  return object && hasMargin(object) ? putBack(object, frame, image) : undefined;
}

/**
 * Finds the object of an image of which parts are transparent.
 *
 * @throws {EngineError} no_foreground if there is none, or if transparency hides it
 */
async function predictVisible(image: RgbaImage, alpha: Matte, predict: PredictMatte): Promise<Matte> {
  const predicted = await predict(overGray(image));
  const visible = predicted && visiblePart(predicted, alpha);
  if (visible?.data.some((coverage) => coverage >= minObjectCoverage)) return visible;
  throw hiddenObject(image, alpha) ?? noForeground(image);
}

function visiblePart(matte: Matte, alpha: Matte): Matte {
  return { ...matte, data: matte.data.map((coverage, i) => Math.min(coverage, alpha.data[i]!)) };
}

/** A mask is upside down if this share of the image is transparent inside an opaque border. */
const minHoleShare = 0.01;

/** Explains how an image's transparency hides its object, if it does. */
function hiddenObject({ width, height }: RgbaImage, alpha: Matte): EngineError | undefined {
  let maxAlpha = 0;
  let clear = 0;
  for (const value of alpha.data) {
    if (value > maxAlpha) maxAlpha = value;
    if (value < minVisibleAlpha) clear++;
  }
  if (maxAlpha < minObjectCoverage) {
    const opacity = Math.round((100 * maxAlpha) / 255);
    return new EngineError(
      'no_foreground',
      `The object in this image is see-through: nothing in it is more than ${opacity} % opaque. Send it opaque, or without transparency.`,
    );
  }
  const { top, bottom, left, right } = edgeCounts(alpha, minObjectCoverage);
  const isFramed = top + bottom + left + right >= 0.9 * 2 * (width + height);
  if (!isFramed || clear < minHoleShare * alpha.data.length) return undefined;
  return new EngineError(
    'no_foreground',
    'The transparency of this image hides its middle and shows what is around it, so the mask may be upside down. Invert the alpha channel, or send the image without transparency.',
  );
}

function found(matte: Matte | undefined, image: RgbaImage): Matte {
  if (!matte) throw noForeground(image);
  return matte;
}

/** A smaller image may not show what separates an object from its background, so the advice is a larger image. */
const minAdvisableSide = 64;

/** @param image the photo or its matte */
export function noForeground({ width, height }: Pick<RgbaImage, 'width' | 'height'>): EngineError {
  const advice =
    Math.min(width, height) < minAdvisableSide
      ? `It has only ${width} x ${height} pixels: send a larger one.`
      : 'Send a photo of one thing, whole and sharp, on a calm background, or a cutout with transparency.';
  return new EngineError('no_foreground', `No object stands out from the background of this image. ${advice}`);
}

function alphaOf({ width, height, data }: RgbaImage): Matte {
  const alpha = new Uint8Array(width * height);
  for (let i = 0; i < alpha.length; i++) alpha[i] = data[4 * i + 3]!;
  return { width, height, data: alpha };
}

/**
 * Whether an alpha channel cuts out an object, and is not rounded corners, a watermark or a fade: much of the border is
 * clear (not all of it: a bust may touch it), and a good part of the rest is solid.
 */
function cutsOut(alpha: Matte): boolean {
  const { width, height, data } = alpha;
  const border = 2 * (width + height);
  const { top, bottom, left, right } = edgeCounts(alpha, minVisibleAlpha);
  const clearBorder = border - top - bottom - left - right;
  let visible = 0;
  let solid = 0;
  for (let i = 0; i < data.length; i++) {
    if (data[i]! >= minVisibleAlpha) visible++;
    if (data[i]! >= 200) solid++;
  }
  return clearBorder >= 0.4 * border && solid > 0 && solid >= 0.25 * visible;
}

/** Composites over a gray that contrasts with light and dark objects: networks are not trained on transparency. */
function overGray({ width, height, data }: RgbaImage): RgbaImage {
  const flat = new Uint8Array(data.length);
  for (let i = 0; i < data.length; i += 4) {
    const share = data[i + 3]! / 255;
    for (let c = 0; c < 3; c++) flat[i + c] = Math.round(data[i + c]! * share + 128 * (1 - share));
    flat[i + 3] = 255;
  }
  return { width, height, data: flat };
}

/** Stretches a part of an image to [3·size·size] bytes of RGB. */
function scaleToSquare({ width, height, data }: RgbaImage, part: Rectangle, size: number): Promise<Buffer> {
  return sharp(data, { raw: { width, height, channels: 4 } })
    .extract({ ...part })
    .removeAlpha()
    .resize(size, size, { fit: 'fill' })
    .raw()
    .toBuffer();
}

/** Converts pixels to RGB, one channel after the other, in the network's range of values. */
function toPlanar(pixels: Uint8Array, { mean, std }: MatteManifest['input']): Float32Array {
  const count = pixels.length / 3;
  const planar = new Float32Array(pixels.length);
  for (let c = 0; c < 3; c++) {
    const offset = mean[c]!;
    const scale = 1 / std[c]!;
    for (let i = 0; i < count; i++) planar[c * count + i] = (pixels[3 * i + c]! - offset) * scale;
  }
  return planar;
}

/** Converts coverage in 0..1 to bytes. Clips both ends: networks output 0.02 and 0.98 for 0 and 1. */
function toBytes(coverage: Float32Array): Uint8Array {
  const margin = 0.03;
  const bytes = new Uint8Array(coverage.length);
  for (let i = 0; i < bytes.length; i++) {
    const value = (coverage[i]! - margin) / (1 - 2 * margin);
    bytes[i] = Math.round(255 * Math.min(1, Math.max(0, value)));
  }
  return bytes;
}
