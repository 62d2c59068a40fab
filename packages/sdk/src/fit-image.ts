import { type FileType, limits } from '@gen3d/schema/rules';
import { heicToTiff, loadLibheif } from './heic.js';
import { readBlob } from './realms.js';
import { loadSharp, requireSharp, type Sharp } from './sharp.js';

/** The server scales photos down to this many pixels a side, so sending more does not change the model. */
const maxUsefulSide = 2_048;

/**
 * Tried in this order. The first three have no visible effect on the model, and make an image of `maxUsefulSide` fit
 * into a request. The others are for proxies with a lower limit.
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
}
type Fit = (image: Blob, options: FitOptions) => Promise<Blob | undefined>;

/**
 * Finds a function that scales and converts images on this platform: with a canvas in browsers, with sharp elsewhere.
 * The function returns an upright sRGB image of at most `maxBytes` (4 MiB), as JPEG, or as WebP if it may be
 * transparent. It returns undefined if the image fits at no quality, and rejects if it cannot decode the image.
 *
 * @param givenSharp used instead of the installed package and of a canvas
 * @returns undefined without a canvas, if sharp is not installed
 * @throws {PackageLoadError} without a canvas, if sharp is installed but cannot be loaded
 * @throws {InvalidRequestError} if sharp is not the function that the package exports
 */
export async function imageFitter(givenSharp?: Sharp): Promise<Fit | undefined> {
  if (!givenSharp && typeof OffscreenCanvas === 'function') return fitWithCanvas;
  const sharp = requireSharp(givenSharp ?? (await loadSharp()));
  return sharp && ((image, options) => fitWithSharp(sharp, image, options));
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
  sharp: Sharp,
  image: Blob,
  { type, maxSide = maxUsefulSide, maxBytes }: FitOptions,
): Promise<Blob | undefined> {
  const bytes = await readBlob(image);
  // npm's sharp cannot decode HEIC.
  const libheif = type === 'heic' ? await loadLibheif() : undefined;
  const decodable = libheif ? await heicToTiff(libheif, bytes) : bytes;
  // 'error' accepts the harmless deviations in the JPEGs of some cameras.
  const source = sharp(decodable, { failOn: 'error', page: type === 'tiff' ? await largestPage(sharp, bytes) : 0 });
  const { hasAlpha = false, depth } = await source.metadata();
  if (depth === 'float' || depth === 'double') throw new FloatingPointError();
  // Without an angle, `rotate` applies the orientation. The output is sRGB by default.
  const size = { width: maxSide, height: maxSide, fit: 'inside', withoutEnlargement: true } as const;
  const scaled = source.rotate().resize(size);
  return firstThatFits(async (fraction) => {
    const quality = Math.round(100 * fraction);
    const encoder = hasAlpha ? scaled.clone().webp({ quality }) : scaled.clone().jpeg({ quality });
    const bytes = new Uint8Array(await encoder.toBuffer());
    return new Blob([bytes], { type: hasAlpha ? 'image/webp' : 'image/jpeg' });
  }, maxBytes);
}

/** The pixels of an image are floating-point numbers, of which it is not known which one is white. */
export class FloatingPointError extends Error {
  override readonly name = 'FloatingPointError';
}

/** More pages are a document, of which the first ones are enough. */
const maxPages = 16;

/** Finds the photo among the pages of a TIFF. The first one may be its thumbnail. */
async function largestPage(sharp: Sharp, bytes: Uint8Array): Promise<number> {
  const { pages = 1 } = await sharp(bytes, { failOn: 'error', page: 0 }).metadata();
  let largest = { page: 0, pixels: 0 };
  for (let page = 0; page < Math.min(pages, maxPages); page++) {
    const { width, height } = await sharp(bytes, { failOn: 'error', page }).metadata();
    if (width * height > largest.pixels) largest = { page, pixels: width * height };
  }
  return largest.page;
}
