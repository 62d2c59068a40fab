// Reading images. This entry point loads no inference runtime, so a process that only decodes stays small.
import { sharp } from './base/sharp.js';

export { EngineError, type EngineErrorCode } from './base/errors.js';
export {
  type DecodedPhoto,
  type DecodeOptions,
  decode,
  type ImageHeader,
  readHeader,
} from './photo/decode.js';

/** Encodes rows of RGB or RGBA with 8 bits per channel as an image file: PNG without loss, WebP with little. */
export function encodePixels(
  { width, height, channels, pixels }: { width: number; height: number; channels: 3 | 4; pixels: Uint8Array },
  format: 'png' | 'webp',
): Promise<Buffer> {
  const image = sharp(pixels, { raw: { width, height, channels } });
  return (format === 'png' ? image.png({ compressionLevel: 3 }) : image.webp({ quality: 90, effort: 2 })).toBuffer();
}

/** Configures the image library of this process for one untrusted image at a time: one thread, and no cache. */
export function configureForOneImage(): void {
  sharp.cache(false);
  sharp.concurrency(1);
}
