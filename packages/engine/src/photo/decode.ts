import sharp from 'sharp';
import { EngineError } from '../errors.js';
import { sniffFormat, supportedFormats } from './format.js';
import type { RgbaImage } from './image.js';

export interface DecodeOptions {
  /** Width times height a file may claim. Default 100 million: every phone's photo, and at most 400 MB while decoding. */
  readonly maxPixels?: number;
  /** Default 25 MiB, the contract's limit for remote images. */
  readonly maxBytes?: number;
}

export interface DecodedPhoto {
  readonly image: RgbaImage;
  /** Whether any pixel lets something through; whether that cuts an object out is for the matte to say. */
  readonly transparent: boolean;
}

const defaultMaxPixels = 100_000_000;
const defaultMaxBytes = 25 * 1024 * 1024;

/** Below this there is nothing to see: the smallest network looks at 64 pixels. */
const minSide = 16;

/** Longer sides are scaled down to this: twice what matting looks at, twice the default texture; more only costs memory. */
export const maxDecodedSide = 2048;

/** A few bytes may ask for minutes of work (AV1 above all), so time is limited as well as size. */
const timeoutSeconds = 30;

/**
 * Decodes a photo to upright sRGB.
 *
 * Takes PNG, JPEG, WebP, GIF and AVIF, told apart by their content. EXIF orientation is applied, embedded profiles and
 * CMYK are converted, 16 bits become 8, an animation gives its first frame.
 * @throws {EngineError} image_too_large if it has too many bytes or pixels (said by its header, before anything is
 *   unpacked); image_invalid if it is of another type, damaged, cut short or smaller than 16 pixels
 */
export async function decode(bytes: Uint8Array, options: DecodeOptions = {}): Promise<DecodedPhoto> {
  const { maxPixels = defaultMaxPixels, maxBytes = defaultMaxBytes } = options;
  if (bytes.length > maxBytes) {
    throw new EngineError('image_too_large', `The image has ${bytes.length} bytes; at most ${maxBytes} are accepted.`);
  }
  requireSupportedFormat(bytes);

  const { width, height } = await readable(() => open(bytes).metadata());
  if (width * height > maxPixels) {
    throw new EngineError(
      'image_too_large',
      `The image is ${width} x ${height} pixels; at most ${maxPixels / 1e6} megapixels are accepted. Scale it down first.`,
    );
  }
  if (Math.min(width, height) < minSide) {
    throw new EngineError(
      'image_invalid',
      `The image is ${width} x ${height} pixels; each side must have ${minSide} or more for an object to be seen.`,
    );
  }

  const { data, info } = await readable(() =>
    open(bytes)
      .autoOrient()
      .resize({ width: maxDecodedSide, height: maxDecodedSide, fit: 'inside', withoutEnlargement: true })
      .toColourspace('srgb')
      .ensureAlpha()
      .raw({ depth: 'uchar' })
      .timeout({ seconds: timeoutSeconds })
      .toBuffer({ resolveWithObject: true }),
  );
  const image = { width: info.width, height: info.height, data };
  return { image, transparent: hasTransparency(image) };
}

function requireSupportedFormat(bytes: Uint8Array): void {
  const format = sniffFormat(bytes);
  if (format && supportedFormats.has(format)) return;
  const accepted = 'Send a PNG, JPEG, WebP, GIF or AVIF.';
  if (bytes.length === 0) throw new EngineError('image_invalid', `The image is empty. ${accepted}`);
  throw new EngineError(
    'image_invalid',
    format
      ? `The image is ${format.toUpperCase()}, whatever its name says, which is not accepted. ${accepted}`
      : `The file is not an image this service knows. ${accepted}`,
  );
}

// 'error' refuses files that are cut short and lets the harmless oddities of some cameras' JPEGs pass. Sizes are checked
// here, before decoding, for a sentence better than the library's.
const open = (bytes: Uint8Array) => sharp(bytes, { failOn: 'error', limitInputPixels: false, pages: 1 });

async function readable<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    throw new EngineError('image_invalid', 'The image is damaged or incomplete and cannot be decoded.', { cause });
  }
}

function hasTransparency({ data }: RgbaImage): boolean {
  for (let i = 3; i < data.length; i += 4) if (data[i]! < 255) return true;
  return false;
}
