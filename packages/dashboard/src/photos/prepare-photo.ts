import { inlineImageTypes, limits } from '@gen3d/schema/rules';
import { decodePhoto } from './decode-photo.js';

/** In pixels. The server scales photos down to this size, so a larger upload only takes longer. */
const maxSide = 2_048;

/** The file cannot be sent: it is empty, too large, or not an image that this browser can read. */
export class PhotoError extends Error {
  override readonly name = 'PhotoError';
}

/**
 * First bytes of formats that the server may read even if the browser cannot, because the image is too large for it.
 */
const signatures = /^(?:\x89PNG|\xff\xd8\xff|RIFF....WEBP|GIF8|II\*\0|MM\0\*|....ftyp)/s;

async function hasImageSignature(file: Blob): Promise<boolean> {
  const start = new Uint8Array(await file.slice(0, 12).arrayBuffer());
  return signatures.test(String.fromCharCode(...start));
}

/** Tries to decode the file, because its type only reflects the extension of its name. */
async function isReadable(file: Blob): Promise<boolean> {
  try {
    (await createImageBitmap(file)).close();
    return true;
  } catch {
    return hasImageSignature(file);
  }
}

/** Scales an image down to at most `maxSide` pixels. */
export function scaleDown(bitmap: ImageBitmap, maxSide: number): HTMLCanvasElement {
  const scale = Math.min(1, maxSide / Math.max(bitmap.width, bitmap.height));
  const canvas = document.createElement('canvas');
  canvas.width = Math.max(1, Math.round(bitmap.width * scale));
  canvas.height = Math.max(1, Math.round(bitmap.height * scale));
  canvas.getContext('2d')?.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  bitmap.close();
  return canvas;
}

/** Null if the image is too large for the browser. A browser that cannot write `type` writes PNG. */
export const encodeImage = (canvas: HTMLCanvasElement, type: string, quality: number): Promise<Blob | null> =>
  new Promise((resolve) => canvas.toBlob(resolve, type, quality));

/**
 * The photo as it can be part of a request: PNG, JPEG or WebP of at most 4 MiB. A photo that fits is sent unchanged;
 * any other one is decoded, scaled down and encoded again.
 * @param name file name for error messages
 * @throws {PhotoError} if the file is empty or not an image, or if the browser cannot convert it
 */
export async function preparePhoto(file: Blob, name: string): Promise<Blob> {
  if (file.size === 0) throw new PhotoError(`${name} is empty`);
  if ((inlineImageTypes as readonly string[]).includes(file.type) && file.size <= limits.inlineImageBytes) {
    if (await isReadable(file)) return file;
    throw new PhotoError(`${name} is not an image, or it is damaged`);
  }
  const bitmap = await decodePhoto(file).catch(() => {
    throw new PhotoError('The file cannot be read. Check that it is a complete photo, or save it as JPEG or PNG');
  });
  const canvas = scaleDown(bitmap, maxSide);
  // Transparency marks the background, and JPEG has none: use JPEG only for photos that were JPEG, or as a last resort.
  const types = file.type === 'image/jpeg' ? ['image/jpeg'] : ['image/webp', 'image/jpeg'];
  for (const type of types) {
    const encoded = await encodeImage(canvas, type, 0.92);
    if (encoded && encoded.size <= limits.inlineImageBytes) return encoded;
  }
  throw new PhotoError('The photo is too large to send. Reduce it to less than 4 MiB');
}

/** `data:image/jpeg;base64,…` */
export function toDataUri(photo: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result as string);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(photo);
  });
}
