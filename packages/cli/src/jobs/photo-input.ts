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
 * Converts an argument of `create` to an input of the SDK, which scales large photos, converts other formats and
 * refuses files that are not photos. The server fetches URLs.
 *
 * @throws {UsageError} if a URL is not valid
 */
export async function photoInput(image: string, signal: AbortSignal): Promise<ImageInput> {
  if (isUrl(image)) return requireUrl(image);
  return image === '-' ? new File([await buffer(addAbortSignal(signal, process.stdin))], 'stdin') : image;
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

/** Checks a file as the SDK does, but before a server is needed. @throws {UsageError} if it is not a photo */
export async function requirePhotoFile(path: string): Promise<void> {
  const start = await readStart(path);
  const type = sniffFileType(start);
  if (start.length === 0 || isPhotoType(type)) return;
  throw new UsageError(`${shownName(path)} is ${describeFileType(type)}. Send a ${photoFormatChoice}`);
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
