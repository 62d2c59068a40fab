import { type FileType, isDisplayP3, limits } from '@gen3d/schema/rules';
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

interface FitOptions {
  readonly type: FileType | undefined;
  readonly maxSide?: number | undefined;
  readonly maxBytes?: number | undefined;
  /** Decodes an image in browsers. It applies the orientation and the color profile. */
  readonly decode?: ((image: Blob) => Promise<Bitmap>) | undefined;
  /** Used instead of a canvas and of the installed package. */
  readonly sharp?: Sharp | undefined;
}

/**
 * Scales and converts an image: with a canvas in browsers, with sharp elsewhere. Returns an upright sRGB image of at
 * most `maxBytes` (4 MiB), as JPEG, or as WebP if it may be transparent.
 *
 * @throws {Error} that says why this platform cannot do it
 */
export async function fitImage(image: Blob, options: FitOptions): Promise<Blob> {
  const withCanvas = !options.sharp && typeof OffscreenCanvas === 'function';
  const fitted = await (withCanvas ? fitWithCanvas : fitWithSharp)(image, options);
  if (fitted) return fitted;
  throw new Error('it is too large at every quality');
}

async function firstThatFits(
  encode: (quality: number) => Promise<Blob>,
  maxBytes: number = limits.inlineImageBytes,
): Promise<Blob | undefined> {
  for (const quality of qualities) {
    const encoded = await encode(quality);
    if (encoded.size <= maxBytes) return encoded;
  }
  return undefined;
}

async function fitWithCanvas(
  image: Blob,
  { type, maxSide = maxUsefulSide, maxBytes, decode = (image) => createImageBitmap(image) }: FitOptions,
): Promise<Blob | undefined> {
  const bitmap = (await decode(image)) as ImageBitmap;
  const scale = Math.min(1, maxSide / Math.max(bitmap.width, bitmap.height));
  const [width, height] = [bitmap.width, bitmap.height].map((side) => Math.max(1, Math.round(side * scale)));
  const canvas = new OffscreenCanvas(width!, height!);
  const context = canvas.getContext('2d');
  if (!context) throw new Error('This browser has no 2D canvas');
  context.imageSmoothingQuality = 'high';
  context.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  bitmap.close();
  const encode = (type: string) => firstThatFits((quality) => canvas.convertToBlob({ type, quality }), maxBytes);
  // Safari writes PNG instead of WebP, which may be too large.
  return (type === 'jpeg' ? undefined : await encode('image/webp')) ?? encode('image/jpeg');
}

async function fitWithSharp(
  image: Blob,
  { type, maxSide = maxUsefulSide, maxBytes, sharp: given }: FitOptions,
): Promise<Blob | undefined> {
  const sharp = given ?? (await loadSharp());
  const bytes = new Uint8Array(await image.arrayBuffer());
  // npm's sharp cannot decode HEIC.
  const { data, ...layout } = type === 'heic' ? await decodeHeic(bytes) : { data: bytes };
  // 'error' accepts the harmless deviations in the JPEGs of some cameras.
  const source = sharp(data, { failOn: 'error', ...layout });
  const { hasAlpha = false, depth } = await source.metadata();
  if (depth === 'float' || depth === 'double') throw new Error('its pixels are floating-point numbers');
  // Without an angle, `rotate` applies the orientation. The output is sRGB by default.
  const size = { width: maxSide, height: maxSide, fit: 'inside', withoutEnlargement: true } as const;
  const scaled = source.rotate().resize(size);
  if (type === 'heic' && isDisplayP3(bytes)) scaled.recomb(displayP3ToSrgb);
  return firstThatFits(async (fraction) => {
    const quality = Math.round(100 * fraction);
    const encoder = hasAlpha ? scaled.clone().webp({ quality }) : scaled.clone().jpeg({ quality });
    const bytes = new Uint8Array(await encoder.toBuffer());
    return new Blob([bytes], { type: hasAlpha ? 'image/webp' : 'image/jpeg' });
  }, maxBytes);
}
