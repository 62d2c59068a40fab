import { readFile, stat } from 'node:fs/promises';
import { addAbortSignal } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { limits } from '@gen3d/schema/rules';
import type { ImageInput } from '@gen3d/sdk';
import { UsageError } from '../exit/failure.js';
import { isUrl } from './output-file.js';

export const isDataUri = (image: string) => /^data:/i.test(image);

/**
 * What to hand to the SDK for one argument of `create`. Photos of phones are often larger than the 4 MiB that fit into a
 * request; those are scaled to the size the server works at, which changes nothing about the model.
 *
 * @throws {UsageError} if a large file is no photo, or has more than 25 MiB
 */
export async function photoInput(image: string, signal: AbortSignal): Promise<ImageInput> {
  if (isUrl(image) || isDataUri(image)) return image;
  if (image === '-') return fitting('stdin', await buffer(addAbortSignal(signal, process.stdin)));
  const { size } = await stat(image);
  if (size <= limits.inlineImageBytes) return image;
  if (size > limits.remoteImageBytes) throw tooLarge(image, size);
  return fitting(image, await readFile(image, { signal }));
}

/** A photo's bytes as they fit into a request. @throws as `photoInput` does; `name` is what its message calls the photo */
export async function fitting(name: string, photo: Uint8Array): Promise<Uint8Array> {
  if (photo.byteLength <= limits.inlineImageBytes) return photo;
  if (photo.byteLength > limits.remoteImageBytes) throw tooLarge(name, photo.byteLength);
  const { EngineError, shrinkPhoto } = await import('@gen3d/engine');
  return shrinkPhoto(photo, limits.inlineImageBytes).catch((error: unknown) => {
    throw error instanceof EngineError ? new UsageError(`${name}: ${error.message}`, { cause: error }) : error;
  });
}

const tooLarge = (name: string, size: number) =>
  new UsageError(
    `${name} has ${(size / 2 ** 20).toFixed(1)} MiB; a photo may have at most 25 MiB. Make it smaller first`,
  );
