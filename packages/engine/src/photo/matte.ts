import sharp from 'sharp';
import { EngineError } from '../base/errors.js';
import type { Matte, RgbaImage } from '../base/image.js';
import type { Bundle } from '../bundle/load-bundle.js';
import type { MatteManifest } from '../bundle/manifest.js';
import { openMatting, type SessionOptions } from '../network/session.js';
import { cleanMatte } from './clean-matte.js';
import type { DecodedPhoto } from './decode.js';

/** Says how much of each pixel is the object. Gets an opaque picture, gives a matte of any size with the same proportions. */
export type PredictMatte = (image: RgbaImage) => Promise<Matte>;

export interface MattingModel {
  readonly predict: PredictMatte;
  release(): Promise<void>;
}

/** Opens a matting network. Keep it: it takes half a second and 400 MB, and leaks a little each time. */
export async function openMattingModel(bundle: Bundle<MatteManifest>, options?: SessionOptions): Promise<MattingModel> {
  const { input, output } = bundle.manifest;
  const session = await openMatting(bundle, options);
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
 * A transparent background that somebody has already made is taken as it is; otherwise `predict` finds the object, and
 * what the picture's alpha says is transparent stays so.
 * @throws {EngineError} no_foreground if there is no object to be seen
 */
export async function matte({ image, transparent }: DecodedPhoto, predict: PredictMatte): Promise<Matte> {
  const alpha = transparent ? alphaOf(image) : undefined;
  if (alpha && cutsOut(alpha)) return found(cleanMatte(alpha), image);
  if (alpha && !alpha.data.some((value) => value >= faintest)) throw noForeground(image);

  // Specks are looked for before scaling up: there are fewer pixels, and they have not been smeared yet.
  const cleaned = found(cleanMatte(await predict(alpha ? overGrey(image) : image)), image);
  const full = await resize(cleaned, image.width, image.height);
  if (alpha) for (let i = 0; i < full.data.length; i++) full.data[i] = Math.min(full.data[i]!, alpha.data[i]!);
  return full;
}

/** Below this an eye sees nothing on a white page. */
const faintest = 24;

function found(matte: Matte | undefined, image: RgbaImage): Matte {
  if (!matte) throw noForeground(image);
  return matte;
}

/** A picture smaller than this may hold an object that nobody can tell from its background; then size is the better advice. */
const tellingSide = 64;

function noForeground({ width, height }: RgbaImage): EngineError {
  const advice =
    Math.min(width, height) < tellingSide
      ? `It has only ${width} x ${height} pixels: send a larger one.`
      : 'Send a photo of one thing, whole and sharp, on a calm background, or a cut-out with transparency.';
  return new EngineError('no_foreground', `No object stands out from the background of this image. ${advice}`);
}

function alphaOf({ width, height, data }: RgbaImage): Matte {
  const alpha = new Uint8Array(width * height);
  for (let i = 0; i < alpha.length; i++) alpha[i] = data[4 * i + 3]!;
  return { width, height, data: alpha };
}

/**
 * Whether an alpha channel is a cut-out, and not rounded corners, a watermark or a fade: much of the border is clear
 * (not all: a bust may stand on it) and a good part of what is left is solid.
 */
function cutsOut({ width, height, data }: Matte): boolean {
  let clearBorder = 0;
  for (let x = 0; x < width; x++) {
    if (data[x]! < faintest) clearBorder++;
    if (data[(height - 1) * width + x]! < faintest) clearBorder++;
  }
  for (let y = 0; y < height; y++) {
    if (data[y * width]! < faintest) clearBorder++;
    if (data[y * width + width - 1]! < faintest) clearBorder++;
  }
  let visible = 0;
  let solid = 0;
  for (let i = 0; i < data.length; i++) {
    if (data[i]! >= faintest) visible++;
    if (data[i]! >= 200) solid++;
  }
  return clearBorder >= 0.4 * 2 * (width + height) && solid > 0 && solid >= 0.25 * visible;
}

/** Networks have never seen transparency: it becomes a grey that is neither a light nor a dark object's edge. */
function overGrey({ width, height, data }: RgbaImage): RgbaImage {
  const flat = new Uint8Array(data.length);
  for (let i = 0; i < data.length; i += 4) {
    const share = data[i + 3]! / 255;
    for (let c = 0; c < 3; c++) flat[i + c] = Math.round(data[i + c]! * share + 128 * (1 - share));
    flat[i + 3] = 255;
  }
  return { width, height, data: flat };
}

/** The picture stretched to the network's square, as planar RGB in its range of values. */
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

/** Coverage in 0..1 to bytes. The ends are cut a little: networks say 0.02 and 0.98 where they mean 0 and 1. */
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
    // Mitchell rings less than Lanczos: a halo of 5 % beside a hard edge would become part of the object.
    .resize(toWidth, toHeight, { fit: 'fill', kernel: 'mitchell' })
    .extractChannel(0)
    .raw()
    .toBuffer();
  return { width: toWidth, height: toHeight, data: scaled };
}
