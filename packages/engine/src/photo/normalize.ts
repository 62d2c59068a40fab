import sharp from 'sharp';
import { type DecodeOptions, decode } from './decode.js';

/**
 * Decodes an image and encodes the result without loss, so that decoding the result gives the same pixels as decoding the
 * image: a PNG of upright sRGB with 8 bits per channel and sides of at most 2048 pixels, with alpha where it is needed.
 * @throws {EngineError} image_invalid or image_too_large, as `decode` does
 */
export async function normalizeImage(bytes: Uint8Array, options: DecodeOptions = {}): Promise<Uint8Array> {
  const { image, transparent } = await decode(bytes, options);
  const { width, height, data } = image;
  const pixels = sharp(data, { raw: { width, height, channels: 4 } });
  // Measured with a photo of 2048 x 1365 pixels: 160 ms and 3.3 MB; 100 ms and 6.7 MB at level 1 without filters.
  return (transparent ? pixels : pixels.removeAlpha()).png({ compressionLevel: 2, adaptiveFiltering: true }).toBuffer();
}
