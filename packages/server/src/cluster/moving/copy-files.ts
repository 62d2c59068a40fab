import type { PhotoSide } from '@gen3d/schema/rules';
import { AdminError } from '../../base/errors.js';
import type { AssetStore } from '../../data/assets/asset-store.js';
import type { InputStore } from '../../data/inputs/input-store.js';
import { UnreadableImageError } from '../../data/inputs/input-store.js';

/** Copies several files at a time, because each request to a remote store takes long. */
const concurrency = 8;

export interface FileCounts {
  copied: number;
  /** Files that were already there with the same content. */
  there: number;
  /** Total size of the files written. */
  bytes: number;
}

/** Identifies an image in an input store. */
export interface StoredInput {
  readonly jobId: string;
  readonly side: PhotoSide;
}

export const noFiles = (): FileCounts => ({ copied: 0, there: 0, bytes: 0 });

/**
 * Copies assets from one store to another under the same keys. Skips assets that are already there with the same
 * content, and reads back what it writes. Can be interrupted at any time and run again.
 * @throws {AdminError} if the target returns other content than was stored
 */
export async function copyAssets(
  keys: AsyncIterable<string>,
  from: AssetStore,
  to: AssetStore,
  counts: FileCounts,
): Promise<void> {
  await forEach(keys, async (key) => {
    const bytes = await from.read(key);
    // No process writes to the source meanwhile, so somebody removed the file by hand.
    if (!bytes) throw new AdminError(`The asset ${key} was removed while it was copied. Run this again`);
    await copyOne(bytes, counts, `The asset ${key}`, {
      read: () => to.read(key),
      write: () => to.write(key, bytes),
    });
  });
}

/** Copies the images of jobs, like `copyAssets`. */
export async function copyInputs(
  images: readonly StoredInput[],
  from: InputStore,
  to: InputStore,
  counts: FileCounts,
): Promise<void> {
  await forEach(images, async (image) => {
    const bytes = await from.read(image.jobId, image.side);
    await copyOne(bytes, counts, `The image of job ${image.jobId} (${image.side})`, {
      read: () => readImage(to, image),
      write: () => to.replace(image.jobId, image.side, bytes),
    });
  });
}

async function readImage(store: InputStore, { jobId, side }: StoredInput): Promise<Uint8Array | undefined> {
  try {
    return await store.read(jobId, side);
  } catch (error) {
    if (error instanceof UnreadableImageError && error.isMissing) return undefined;
    throw error;
  }
}

interface TargetFile {
  read(): Promise<Uint8Array | undefined>;
  write(): Promise<void>;
}

async function copyOne(
  bytes: Uint8Array,
  counts: FileCounts,
  name: string,
  { read, write }: TargetFile,
): Promise<void> {
  const isStored = async () => {
    const found = await read();
    return found !== undefined && Buffer.compare(found, bytes) === 0;
  };
  if (await isStored()) {
    counts.there += 1;
    return;
  }
  await write();
  if (!(await isStored())) throw new AdminError(`${name} was stored, but the target returns other content`);
  counts.copied += 1;
  counts.bytes += bytes.length;
}

/** Works on several items concurrently. Starts no more after a failure. */
async function forEach<T>(items: Iterable<T> | AsyncIterable<T>, work: (item: T) => Promise<void>): Promise<void> {
  const iterator = (async function* () {
    yield* items;
  })();
  const worker = async () => {
    try {
      for (;;) {
        const next = await iterator.next();
        if (next.done) return;
        await work(next.value);
      }
    } catch (error) {
      await iterator.return(undefined);
      throw error;
    }
  };
  const outcomes = await Promise.allSettled(Array.from({ length: concurrency }, worker));
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
}
