import { open, readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { addAbortSignal } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { describeFileType, type FileType, labelOfUrl, sniffedBytes, sniffFileType } from '@gen3d/schema/rules';
import type { ImageInput } from '@gen3d/sdk';
import { UsageError } from '../exit/failure.js';
import { heicToJpeg } from './heic.js';
import { fetchPhoto, isOnPrivateNetwork } from './private-url.js';

export const isUrl = (image: string): boolean => /^https?:\/\//i.test(image);
export const isDataUri = (image: string): boolean => /^data:/i.test(image);

/** The label of a photo's job: the name of its file, or the last part of its URL. Undefined for stdin and data URIs. */
export function labelOf(image: string): string | undefined {
  if (image === '-' || isDataUri(image)) return undefined;
  if (!isUrl(image)) return basename(image);
  return (URL.canParse(image) ? labelOfUrl(image) : null) ?? undefined;
}

/**
 * Converts an argument of `create` to an input of the SDK, which scales large photos and converts GIF, AVIF and TIFF.
 * Converts HEIC, and fetches URLs of this machine and its network, which the server must not or cannot fetch.
 *
 * @throws {UsageError} if a URL cannot be fetched, or a file is not a photo or is a damaged HEIC photo
 */
export async function photoInput(image: string, signal: AbortSignal): Promise<ImageInput> {
  if (isDataUri(image)) return image;
  if (isUrl(image)) {
    const url = new URL(image);
    return (await isOnPrivateNetwork(url)) ? photoFile(image, await fetchPhoto(url, signal)) : image;
  }
  if (image === '-') return photoFile('stdin', await buffer(addAbortSignal(signal, process.stdin)));
  const start = await readStart(image);
  requirePhoto(image, start);
  return sniffFileType(start) === 'heic' ? photoFile(image, await readFile(image, { signal })) : image;
}

const photoTypes: ReadonlySet<FileType> = new Set(['jpeg', 'png', 'webp', 'heic', 'avif', 'gif', 'tiff']);

/** The SDK accepts fewer formats, and its error names only those. */
function requirePhoto(name: string, start: Uint8Array): void {
  const type = sniffFileType(start);
  if (start.length === 0 || (type && photoTypes.has(type))) return;
  throw new UsageError(`${name} is ${describeFileType(type)}. Send a JPEG, PNG, WebP, HEIC, AVIF, GIF or TIFF`);
}

/**
 * A photo for the SDK. `name` is for error messages.
 *
 * @throws {UsageError} if it is not a photo, or is a damaged HEIC photo
 */
export async function photoFile(name: string, photo: Uint8Array): Promise<File> {
  requirePhoto(name, photo);
  if (sniffFileType(photo) !== 'heic') return new File([new Uint8Array(photo)], name);
  const jpeg = await heicToJpeg(photo).catch((cause: unknown) => {
    const remedy = 'Check that the file is complete, or save it as JPEG';
    throw new UsageError(`${name} is a HEIC photo that cannot be decoded. ${remedy}`, { cause });
  });
  return new File([new Uint8Array(jpeg)], name);
}

async function readStart(path: string): Promise<Uint8Array> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(new Uint8Array(sniffedBytes), 0, sniffedBytes, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
