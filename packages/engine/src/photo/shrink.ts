import sharp from 'sharp';
import { decode } from './decode.js';

/**
 * Encodes a photo again so that it fits into `maxBytes`, at the size that `decode` would scale it to anyway: the model
 * made of it is the same.
 *
 * @throws {EngineError} image_invalid or image_too_large, as `decode` does
 */
export async function shrinkPhoto(bytes: Uint8Array, maxBytes: number): Promise<Uint8Array> {
  const { image, transparent } = await decode(bytes);
  const { width, height, data } = image;
  let smallest: Uint8Array = bytes;
  for (const quality of [95, 88, 78]) {
    if (smallest.byteLength <= maxBytes) break;
    const pixels = sharp(data, { raw: { width, height, channels: 4 } });
    const encoder = transparent ? pixels.webp({ quality }) : pixels.removeAlpha().jpeg({ quality });
    smallest = await encoder.toBuffer();
  }
  return smallest;
}
