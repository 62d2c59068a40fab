import type { RawImage } from './stored-image.js';

/** Encodes pixels as an image file, on a thread of the image library. It is loaded only when it is needed. */
export async function encodeImage(image: RawImage, format: 'png' | 'webp'): Promise<Buffer> {
  const { configureForOneImage, encodePixels } = await import('@gen3d/engine/images');
  configureForOneImage();
  return encodePixels(image, format);
}
