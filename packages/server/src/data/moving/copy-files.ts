import { AdminError } from '../../base/errors.js';
import type { AssetStore } from '../assets/asset-store.js';
import type { InputStore } from '../inputs/input-store.js';
import { UnreadablePhotoError } from '../inputs/unreadable.js';

/** Files on the way at once: a store far away answers each of them late. */
const places = 8;

export interface FileCounts {
  /** Written now. */
  copied: number;
  /** Found there already, with the same bytes. */
  there: number;
  /** Of the files written now. */
  bytes: number;
}

export const noFiles = (): FileCounts => ({ copied: 0, there: 0, bytes: 0 });

/**
 * Stores each of the assets in `to` under the key that it has in `from`. What is there already in the same bytes is left
 * alone; what is written is read back and compared. May be killed at any moment and run again.
 * @throws {AdminError} if the target gives back other bytes than it was given
 */
export async function copyAssets(
  keys: AsyncIterable<string>,
  from: AssetStore,
  to: AssetStore,
  counts: FileCounts,
): Promise<void> {
  await eachOf(keys, async (key) => {
    const bytes = await from.read(key);
    // Nobody writes the source meanwhile, so whoever removed it did so by hand.
    if (!bytes) throw new AdminError(`The asset ${key} vanished while it was copied. Run this again`);
    await copyOne(bytes, counts, `The asset ${key}`, {
      read: () => to.read(key),
      write: () => to.write(key, bytes),
    });
  });
}

/** Stores the photos of jobs in `to`, as `copyAssets` does. Returns the jobs whose photo `from` does not have. */
export async function copyPhotos(
  jobIds: readonly string[],
  from: InputStore,
  to: InputStore,
  counts: FileCounts,
): Promise<string[]> {
  const missing: string[] = [];
  await eachOf(jobIds, async (jobId) => {
    const bytes = await photoOf(from, jobId);
    if (!bytes) return void missing.push(jobId);
    await copyOne(bytes, counts, `The photo of job ${jobId}`, {
      read: () => photoOf(to, jobId),
      write: async () => {
        await to.remove(jobId);
        await to.put(jobId, bytes);
      },
    });
  });
  return missing;
}

async function photoOf(store: InputStore, jobId: string): Promise<Uint8Array | undefined> {
  try {
    return await store.read(jobId);
  } catch (error) {
    if (error instanceof UnreadablePhotoError && error.isMissing) return undefined;
    throw error;
  }
}

interface Place {
  read(): Promise<Uint8Array | undefined>;
  write(): Promise<void>;
}

async function copyOne(bytes: Uint8Array, counts: FileCounts, what: string, { read, write }: Place): Promise<void> {
  const isThere = async () => {
    const found = await read();
    return found !== undefined && Buffer.compare(found, bytes) === 0;
  };
  if (await isThere()) {
    counts.there += 1;
    return;
  }
  await write();
  if (!(await isThere()))
    throw new AdminError(`${what} was stored and comes back with other bytes: the target is at fault`);
  counts.copied += 1;
  counts.bytes += bytes.length;
}

/** Works on several at once, and begins no more once one has failed. */
async function eachOf<T>(items: Iterable<T> | AsyncIterable<T>, work: (item: T) => Promise<void>): Promise<void> {
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
  const ends = await Promise.allSettled(Array.from({ length: places }, worker));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}
