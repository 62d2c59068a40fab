import { describeFileType, type FileType, sniffFileType } from '@gen3d/schema/rules';
import type { Metadata, Sharp } from 'sharp';
import { EngineError, needsTooMuchMemory } from '../base/errors.js';
import type { RgbaImage } from '../base/image.js';
import { sharp } from '../base/sharp.js';
import { gammaOfPng, gammaToSrgb } from './png-gamma.js';

export interface DecodeOptions {
  /** Maximum product of width and height in the header. Default 100 million, more than phone cameras have. */
  readonly maxPixels?: number;
  /** Default 25 MiB, the contract's limit for remote images. */
  readonly maxBytes?: number;
  /** Maximum of `ImageHeader.memoryBytes`. Default: no limit. */
  readonly maxMemoryBytes?: number;
  /** Stops decoding between two steps of the decoder, but not within one. Default 30. */
  readonly timeoutSeconds?: number;
}

/** Describes an image that has not been decoded. */
export interface ImageHeader {
  readonly width: number;
  readonly height: number;
  /** Estimate of the memory that the decoder needs to hold the whole image; 0 when it decodes row by row. */
  readonly memoryBytes: number;
}

export interface DecodedPhoto {
  readonly image: RgbaImage;
  /** Whether any pixel is not opaque. The matte decides whether that cuts out an object. */
  readonly transparent: boolean;
}

const defaultMaxPixels = 100_000_000;
const defaultMaxBytes = 25 * 1024 * 1024;

/** Smaller images do not show an object: the smallest network takes 64 pixels a side. */
const minSide = 16;

/** Longer sides are scaled down to this: twice the input of matting and twice the default texture. */
export const maxDecodedSide = 2048;

/** A small file can take minutes to decode (AV1 above all), so time is limited as well as size. */
const defaultTimeoutSeconds = 30;

/**
 * Reads the size of an image from its header.
 * @throws {EngineError} image_too_large if it exceeds a limit of `options`; image_invalid if it is of another type,
 *   damaged or smaller than 16 pixels
 */
export async function readHeader(bytes: Uint8Array, options: DecodeOptions = {}): Promise<ImageHeader> {
  const {
    maxPixels = defaultMaxPixels,
    maxBytes = defaultMaxBytes,
    maxMemoryBytes = Number.POSITIVE_INFINITY,
  } = options;
  if (bytes.length > maxBytes) {
    throw new EngineError('image_too_large', `The image has ${bytes.length} bytes; at most ${maxBytes} are accepted.`);
  }
  requireSupportedType(bytes);

  const metadata = await readable(() => open(bytes).metadata());
  const { width, height } = metadata;
  if (width * height > maxPixels) {
    throw new EngineError(
      'image_too_large',
      `The image is ${width} x ${height} pixels; at most ${maxPixels / 1e6} megapixels are accepted. Scale it down first.`,
    );
  }
  if (Math.min(width, height) < minSide) {
    throw new EngineError(
      'image_invalid',
      `The image is ${width} x ${height} pixels; each side must have at least ${minSide} for an object to be visible.`,
    );
  }
  const memoryBytes = Math.round(width * height * memoryBytesPerPixel(metadata));
  if (memoryBytes > maxMemoryBytes) throw new EngineError('image_too_large', needsTooMuchMemory(maxMemoryBytes));
  return { width, height, memoryBytes };
}

/**
 * Bytes per pixel that the decoder of each format holds until the image is complete. Measured with images of 36 and 100
 * megapixels: interlaced PNG 8.0 (16-bit RGBA), progressive JPEG 6.4 (4:4:4) and 3.4 (4:2:0), lossless WebP 4.2, GIF
 * 5.0, AVIF with alpha 19 (8 bits) and 26 (10 bits).
 */
function memoryBytesPerPixel({ format, channels, depth, isProgressive, chromaSubsampling }: Metadata): number {
  const isDeep = depth !== 'uchar';
  switch (format) {
    case 'png':
      return isProgressive ? channels * (isDeep ? 2 : 1) : 0;
    case 'jpeg': {
      const samples = chromaSubsampling === '4:2:0' ? 1.5 : chromaSubsampling === '4:2:2' ? 2 : channels;
      return isProgressive ? 2 * samples : 0;
    }
    case 'webp':
      return 4;
    case 'gif':
      return 5;
    default:
      return channels * (isDeep ? 6.5 : 5);
  }
}

/**
 * Decodes a photo to upright sRGB.
 *
 * Accepts PNG, JPEG, WebP, GIF and AVIF, by content. Applies EXIF orientation, converts embedded profiles, CMYK and 16
 * bits per channel, and takes the first frame of an animation. The gamma of a PNG is obeyed if it has no profile.
 * @throws {EngineError} as `readHeader` does, before the image is decoded; image_invalid if it is damaged or cut short
 * @example
 * const { image, transparent } = await decode(await readFile('mug.jpg'), { maxPixels: 32_000_000 });
 * console.log(image.width, image.height, transparent);
 */
export async function decode(bytes: Uint8Array, options: DecodeOptions = {}): Promise<DecodedPhoto> {
  await readHeader(bytes, options);
  const { timeoutSeconds = defaultTimeoutSeconds } = options;
  const type = sniffFileType(bytes);
  const gamma = type === 'png' ? gammaOfPng(bytes) : undefined;
  const pixelsOf = (source: Sharp) =>
    source
      .autoOrient()
      .resize({ width: maxDecodedSide, height: maxDecodedSide, fit: 'inside', withoutEnlargement: true })
      // 8 bits of linear light are too few for dark colors.
      .toColorspace(gamma ? 'rgb16' : 'srgb')
      .ensureAlpha()
      .raw({ depth: gamma ? 'ushort' : 'uchar' })
      .timeout({ seconds: timeoutSeconds })
      .toBuffer({ resolveWithObject: true });
  const { data, info } = await readable(() =>
    pixelsOf(open(bytes)).catch((error: unknown) => {
      if (type !== 'jpeg') throw error;
      return pixelsOf(openWithEnd(bytes));
    }),
  );
  const { width, height } = info;
  const converted = gamma ? gammaToSrgb(new Uint16Array(data.buffer, data.byteOffset, data.length / 2), gamma) : data;
  const image = { width, height, data: converted };
  return { image, transparent: hasTransparency(image) };
}

// TIFF is left out: it has too many variants for untrusted input, and cameras and browsers do not send it.
const supportedTypes: ReadonlySet<FileType> = new Set(['png', 'jpeg', 'webp', 'gif', 'avif']);

function requireSupportedType(bytes: Uint8Array): void {
  const type = sniffFileType(bytes);
  if (type && supportedTypes.has(type)) return;
  const found = bytes.length === 0 ? 'empty' : describeFileType(type);
  throw new EngineError('image_invalid', `The file is ${found}. Send a PNG, JPEG, WebP, GIF or AVIF.`);
}

// 'error' refuses files that are cut short and accepts harmless deviations in the JPEGs of some cameras. `readHeader`
// checks the size before decoding, with a better message than the library's.
const open = (bytes: Uint8Array) => sharp(bytes, { failOn: 'error', limitInputPixels: false, pages: 1 });

/**
 * Opens a JPEG of which only the end marker is missing, as some cameras and interrupted copies leave it. With 'warning',
 * the decoder refuses one that lacks lines of the image, too.
 */
const openWithEnd = (bytes: Uint8Array) =>
  sharp(Buffer.concat([bytes, Buffer.of(0xff, 0xd9)]), { failOn: 'warning', limitInputPixels: false });

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
