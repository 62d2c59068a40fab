import { dataUriOf, type ImageInput, readImage } from '../src/image-input.js';
import type { Sharp } from '../src/sharp.js';

/** The entry of `image_urls` for a photo. */
export async function toImageUrl(image: ImageInput, sharp?: Sharp): Promise<string> {
  const source = await readImage(image, sharp);
  return typeof source === 'string' ? source : dataUriOf(source);
}
