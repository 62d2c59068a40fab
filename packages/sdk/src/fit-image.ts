import { type FileType, isDisplayP3 } from '@gen3d/schema/rules';
import { decodeHeic, displayP3ToSrgb } from './heic.js';
import { loadSharp, type Sharp } from './sharp.js';

/** The server scales photos down to this many pixels a side, so sending more does not change the model. */
const maxUsefulSide = 2_048;

/**
 * Tried in this order. The first three have no visible effect on the model, and make an image of `maxUsefulSide` fit
 * into a request. The others are for several photos in one request.
 */
const qualities = [0.95, 0.88, 0.78, 0.6, 0.4];

/** Images larger than this are not read, because they are probably videos. */
export const maxSourceBytes = 100 * 1024 ** 2;

/** Declares what is used of `ImageBitmap`, so that this file compiles without the types of browsers. */
export type Bitmap = { readonly width: number; readonly height: number; close(): void };

export interface FitOptions {
  /** Scales the image to at most this many pixels a side, even if it would fit. */
  readonly maxSide?: number | undefined;
  /** Decodes an image to an `ImageBitmap`, for formats that not all browsers support. Default: `createImageBitmap`. */
  readonly decode?: ((image: Blob) => Promise<Bitmap>) | undefined;
  /** The package sharp, where it cannot be found by its name: see `Gen3dOptions`. */
  readonly sharp?: Sharp | undefined;
}

/** Encodes a scaled image with a quality of 0 to 1. */
type Encode = (quality: number) => Promise<Blob>;

/**
 * Scales and converts an image: with a canvas in browsers, with sharp elsewhere. Returns an upright sRGB image of at
 * most `maxBytes`, as JPEG, or as WebP if it may be transparent.
 *
 * @throws {Error} that says why this platform cannot do it
 */
export async function fitImage(
  image: Blob,
  type: FileType | undefined,
  maxBytes: number,
  options: FitOptions,
): Promise<Blob> {
  const withCanvas = !options.sharp && typeof OffscreenCanvas === 'function';
  for (const encode of await (withCanvas ? scaleWithCanvas : scaleWithSharp)(image, type, options)) {
    for (const quality of qualities) {
      const encoded = await encode(quality);
      if (encoded.size <= maxBytes) return encoded;
    }
  }
  throw new Error('it is too large at every quality');
}

async function scaleWithCanvas(
  image: Blob,
  type: FileType | undefined,
  { maxSide = maxUsefulSide, decode = (image) => createImageBitmap(image) }: FitOptions,
): Promise<Encode[]> {
  // Its orientation and its color profile are applied.
  const bitmap = (await decode(image)) as ImageBitmap;
  const scale = Math.min(1, maxSide / Math.max(bitmap.width, bitmap.height));
  const [width, height] = [bitmap.width, bitmap.height].map((side) => Math.max(1, Math.round(side * scale)));
  const canvas = new OffscreenCanvas(width!, height!);
  const context = canvas.getContext('2d');
  if (!context) throw new Error('This browser has no 2D canvas');
  context.imageSmoothingQuality = 'high';
  context.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  bitmap.close();
  const encodeAs = (type: string) => (quality: number) => canvas.convertToBlob({ type, quality });
  // Safari writes PNG instead of WebP, which may be too large.
  return type === 'jpeg' ? [encodeAs('image/jpeg')] : [encodeAs('image/webp'), encodeAs('image/jpeg')];
}

async function scaleWithSharp(
  image: Blob,
  type: FileType | undefined,
  { maxSide = maxUsefulSide, sharp: given }: FitOptions,
): Promise<Encode[]> {
  const sharp = given ?? (await loadSharp());
  const bytes = new Uint8Array(await image.arrayBuffer());
  // npm's sharp cannot decode HEIC.
  const { data, ...layout } = type === 'heic' ? await decodeHeic(bytes) : { data: bytes };
  // 'error' accepts the harmless deviations in the JPEGs of some cameras.
  const source = sharp(data, { failOn: 'error', ...layout });
  const { hasAlpha = false, depth } = await source.metadata();
  if (depth === 'float' || depth === 'double') throw new Error('its pixels are floating-point numbers');
  // Without an angle, `rotate` applies the orientation. The output is sRGB by default.
  const scaled = source.rotate().resize({ width: maxSide, height: maxSide, fit: 'inside', withoutEnlargement: true });
  if (type === 'heic' && isDisplayP3(bytes)) scaled.recomb(displayP3ToSrgb);
  const format = hasAlpha ? 'webp' : 'jpeg';
  return [
    async (quality) => {
      const encoded = await scaled
        .clone()
        .toFormat(format, { quality: Math.round(100 * quality) })
        .toBuffer();
      return new Blob([new Uint8Array(encoded)], { type: `image/${format}` });
    },
  ];
}
