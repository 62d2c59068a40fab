import { readFile, stat } from 'node:fs/promises';
import { addAbortSignal } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { limits } from '@gen3d/schema/rules';
import type { ImageInput } from '@gen3d/sdk';
import { UsageError } from '../exit/failure.js';

export const isUrl = (image: string): boolean => /^https?:\/\//i.test(image);
export const isDataUri = (image: string): boolean => /^data:/i.test(image);

/**
 * Converts an argument of `create` to an input of the SDK. Photos larger than 4 MiB, the limit of a request, are scaled to
 * the size that the server works with, which does not change the model.
 *
 * @throws {UsageError} if a large file is not a photo, or is larger than 25 MiB
 */
export async function photoInput(image: string, signal: AbortSignal): Promise<ImageInput> {
  if (isUrl(image) || isDataUri(image)) return image;
  if (image === '-') return shrinkToLimit('stdin', await buffer(addAbortSignal(signal, process.stdin)));
  const { size } = await stat(image);
  if (size <= limits.inlineImageBytes) return image;
  requireSize(image, size);
  return shrinkToLimit(image, await readFile(image, { signal }));
}

/** Scales a photo down if it is too large for a request. `name` is for messages. @throws like `photoInput` */
export async function shrinkToLimit(name: string, photo: Uint8Array): Promise<Uint8Array> {
  if (photo.byteLength <= limits.inlineImageBytes) return photo;
  requireSize(name, photo.byteLength);
  const { EngineError, shrinkPhoto } = await import('@gen3d/engine');
  return shrinkPhoto(photo, limits.inlineImageBytes).catch((error: unknown) => {
    throw error instanceof EngineError ? new UsageError(`${name}: ${error.message}`, { cause: error }) : error;
  });
}

function requireSize(name: string, size: number): void {
  if (size <= limits.remoteImageBytes) return;
  const mebibytes = (size / 2 ** 20).toFixed(1);
  throw new UsageError(`${name} has ${mebibytes} MiB, more than the limit of 25 MiB. Make the photo smaller`);
}
