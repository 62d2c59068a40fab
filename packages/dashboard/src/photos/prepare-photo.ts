import { inlineImageTypes, limits } from '@gen3d/schema/rules';

/** The server scales longer sides down to this, in pixels: sending more only takes longer. */
const longestSide = 2_048;

/** A file that is no photo the server can read. */
export class NotAPhotoError extends Error {
  override readonly name = 'NotAPhotoError';
}

/** How the files begin that the server may read although a browser cannot: too large for it, or TIFF, HEIC, AVIF. */
const signatures = /^(?:\x89PNG|\xff\xd8\xff|RIFF....WEBP|GIF8|II\*\0|MM\0\*|....ftyp)/s;

async function beginsAsPicture(file: Blob): Promise<boolean> {
  const start = new Uint8Array(await file.slice(0, 12).arrayBuffer());
  return signatures.test(String.fromCharCode(...start));
}

/** A file's type is only what its name says, so a browser has to be asked. */
async function isReadable(file: Blob): Promise<boolean> {
  try {
    (await createImageBitmap(file)).close();
    return true;
  } catch {
    return beginsAsPicture(file);
  }
}

/**
 * The photo as it may travel inside a request: PNG, JPEG or WebP of at most 4 MiB. One that fits is sent untouched; another
 * is decoded by the browser, scaled down and encoded anew. `name` is the file's, for what is said about it.
 * @throws {NotAPhotoError} when it is empty, no picture at all, or must be encoded anew and the browser cannot decode it
 */
export async function preparePhoto(file: Blob, name: string): Promise<Blob> {
  if (file.size === 0) throw new NotAPhotoError(`${name} is empty`);
  if ((inlineImageTypes as readonly string[]).includes(file.type) && file.size <= limits.inlineImageBytes) {
    if (await isReadable(file)) return file;
    throw new NotAPhotoError(`${name} is no picture, whatever its name says, or it is damaged`);
  }
  const bitmap = await createImageBitmap(file).catch(() => {
    throw new NotAPhotoError('This browser cannot read it as a picture. Save it as JPEG or PNG first');
  });
  const scale = Math.min(1, longestSide / Math.max(bitmap.width, bitmap.height));
  const canvas = document.createElement('canvas');
  canvas.width = Math.round(bitmap.width * scale);
  canvas.height = Math.round(bitmap.height * scale);
  canvas.getContext('2d')?.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  bitmap.close();
  // JPEG has no transparency, which tells what the object is; a browser that writes no WebP writes PNG instead.
  const types = file.type === 'image/jpeg' ? ['image/jpeg'] : ['image/webp', 'image/jpeg'];
  for (const type of types) {
    const encoded = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, type, 0.92));
    if (encoded && encoded.size <= limits.inlineImageBytes) return encoded;
  }
  throw new NotAPhotoError('It is too large to send. Make it smaller than 4 MiB');
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
