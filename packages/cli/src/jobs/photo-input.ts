import { open } from 'node:fs/promises';
import { basename } from 'node:path';
import { addAbortSignal } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import {
  describeFileType,
  isPhotoType,
  labelOfUrl,
  photoFormatChoice,
  sniffedBytes,
  sniffFileType,
} from '@gen3d/schema/rules';
import type { ImageInput } from '@gen3d/sdk';
import { UsageError } from '../exit/failure.js';
import { shownName } from '../terminal/terminal.js';

export const isUrl = (image: string): boolean => /^https?:\/\//i.test(image);
export const isDataUri = (image: string): boolean => /^data:/i.test(image);
export const isFile = (image: string): boolean => image !== '-' && !isUrl(image) && !isDataUri(image);

/** Labels a photo's job with the name of its file, or the last part of its URL. Undefined for stdin and data URIs. */
export function labelOf(image: string): string | undefined {
  if (image === '-' || isDataUri(image)) return undefined;
  if (!isUrl(image)) return basename(image);
  return (URL.canParse(image) ? labelOfUrl(image) : null) ?? undefined;
}

/**
 * Converts an argument of `create` to an input of the SDK, which scales large photos and converts other formats. The
 * server fetches URLs.
 *
 * @throws {UsageError} if a URL is not valid, or a file is not a photo
 */
export async function photoInput(image: string, signal: AbortSignal): Promise<ImageInput> {
  if (isDataUri(image)) return image;
  if (isUrl(image)) return requireUrl(image);
  if (image === '-') return photoFile('stdin', await buffer(addAbortSignal(signal, process.stdin)));
  await requirePhotoFile(image);
  return image;
}

/** @throws {UsageError} if an argument is not a valid URL, for example because it has no host */
export function requireUrl(image: string): string {
  if (URL.canParse(image)) return image;
  throw new UsageError(
    `${shownName(image)} is not a valid URL. Pass the path of a photo, an http(s) URL, or - for stdin`,
  );
}

/** Creates the error for a path that does not exist. */
export const missingFile = (path: string, cause: unknown): UsageError =>
  new UsageError(`${shownName(path)} does not exist. Pass the path of a photo, an http(s) URL, or - for stdin`, {
    cause,
  });

/** @throws {UsageError} if a file is not a photo */
export async function requirePhotoFile(path: string): Promise<void> {
  requirePhoto(path, await readStart(path));
}

/** Rejects files that are not photos. The SDK accepts fewer formats than the CLI, and its error names only those. */
function requirePhoto(name: string, start: Uint8Array): void {
  const type = sniffFileType(start);
  if (start.length === 0 || isPhotoType(type)) return;
  throw new UsageError(`${shownName(name)} is ${describeFileType(type)}. Send a ${photoFormatChoice}`);
}

/**
 * Makes a file of a photo, for the SDK. `name` is for error messages.
 *
 * @throws {UsageError} if it is not a photo
 */
export async function photoFile(name: string, photo: Uint8Array): Promise<File> {
  requirePhoto(name, photo);
  return new File([new Uint8Array(photo)], name);
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
