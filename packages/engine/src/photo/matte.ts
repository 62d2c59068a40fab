import { EngineError } from '../base/errors.js';
import type { Matte, RgbaImage } from '../base/image.js';
import { sharp } from '../base/sharp.js';
import type { Bundle } from '../bundle/load-bundle.js';
import type { MatteManifest } from '../bundle/manifest.js';
import { type OpenSession, openMatting } from '../network/session.js';
import { cleanMatte } from './clean-matte.js';
import type { DecodedPhoto } from './decode.js';

/** Estimates the matte of an opaque image, in any size with the same proportions. */
export type PredictMatte = (image: RgbaImage) => Promise<Matte>;

export interface MattingNetwork {
  readonly predict: PredictMatte;
  release(): Promise<void>;
}

/** Opens a matting network. Reuse it: opening takes half a second and 400 MB, and leaks a little each time. */
export async function openMattingNetwork(bundle: Bundle<MatteManifest>, open?: OpenSession): Promise<MattingNetwork> {
  const { input, output } = bundle.manifest;
  const session = await openMatting(bundle, open);
  return {
    async predict(image) {
      const tensor = { shape: [1, 3, input.size, input.size], data: await networkInput(image, input) };
      const coverage = (await session.run({ [input.tensor]: tensor })).get(output)!;
      return { width: input.size, height: input.size, data: toBytes(coverage) };
    },
    release: () => session.release(),
  };
}

/**
 * The matte of a photo, of the photo's size.
 *
 * If the image's alpha already cuts out the object, alpha is the matte. Otherwise `predict` finds the object, and
 * transparent parts stay transparent.
 * @throws {EngineError} no_foreground if there is no visible object
 */
export async function matte({ image, transparent }: DecodedPhoto, predict: PredictMatte): Promise<Matte> {
  const alpha = transparent ? alphaOf(image) : undefined;
  if (alpha && cutsOut(alpha)) return found(cleanMatte(alpha), image);
  if (alpha && !alpha.data.some((value) => value >= minVisibleAlpha)) throw noForeground(image);

  // Remove specks before scaling up, which blurs them, and while there are fewer pixels.
  const cleaned = found(cleanMatte(await predict(alpha ? overGray(image) : image)), image);
  const full = await resize(cleaned, image.width, image.height);
  if (alpha) for (let i = 0; i < full.data.length; i++) full.data[i] = Math.min(full.data[i]!, alpha.data[i]!);
  return full;
}

/** Below this, a pixel is invisible on white. */
const minVisibleAlpha = 24;

function found(matte: Matte | undefined, image: RgbaImage): Matte {
  if (!matte) throw noForeground(image);
  return matte;
}

/** In a smaller image, an object may be indistinguishable from its background; the advice is then a larger image. */
const minAdvisableSide = 64;

function noForeground({ width, height }: RgbaImage): EngineError {
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
function cutsOut({ width, height, data }: Matte): boolean {
  let clearBorder = 0;
  for (let x = 0; x < width; x++) {
    if (data[x]! < minVisibleAlpha) clearBorder++;
    if (data[(height - 1) * width + x]! < minVisibleAlpha) clearBorder++;
  }
  for (let y = 0; y < height; y++) {
    if (data[y * width]! < minVisibleAlpha) clearBorder++;
    if (data[y * width + width - 1]! < minVisibleAlpha) clearBorder++;
  }
  let visible = 0;
  let solid = 0;
  for (let i = 0; i < data.length; i++) {
    if (data[i]! >= minVisibleAlpha) visible++;
    if (data[i]! >= 200) solid++;
  }
  return clearBorder >= 0.4 * 2 * (width + height) && solid > 0 && solid >= 0.25 * visible;
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

/** The image stretched to the network's square, as planar RGB in its range of values. */
async function networkInput(
  { width, height, data }: RgbaImage,
  { size, mean, std }: MatteManifest['input'],
): Promise<Float32Array> {
  const pixels = await sharp(data, { raw: { width, height, channels: 4 } })
    .removeAlpha()
    .resize(size, size, { fit: 'fill' })
    .raw()
    .toBuffer();
  const count = size * size;
  const planar = new Float32Array(3 * count);
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

async function resize({ width, height, data }: Matte, toWidth: number, toHeight: number): Promise<Matte> {
  const scaled = await sharp(data, { raw: { width, height, channels: 1 } })
    // Mitchell rings less than Lanczos, whose halo of 5 % at a hard edge would become part of the object.
    .resize(toWidth, toHeight, { fit: 'fill', kernel: 'mitchell' })
    .extractChannel(0)
    .raw()
    .toBuffer();
  return { width: toWidth, height: toHeight, data: scaled };
}
