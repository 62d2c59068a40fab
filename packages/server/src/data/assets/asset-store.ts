import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { randomToken } from '../../base/ids.js';

export interface AssetKeys {
  modelKey: string;
  thumbnailKey: string;
}

/** The files of an attempt. The thumbnail on a transparent background is for the dashboard; the sample has none. */
export type Files = [model: Uint8Array, thumbnail: Uint8Array, transparentThumbnail?: Uint8Array | undefined];

/** The recorded end of a job: whether it is finished, and with which model. */
export interface Outcome {
  finished: boolean;
  modelKey: string | null;
}

/**
 * Models and thumbnails of finished jobs. A key is a path below the assets URL. It is the same in every store, and its
 * content never changes.
 *
 * Each attempt at a job writes only to its own folder, so an attempt that lost its lease, even one that was suspended
 * and resumes much later, cannot overwrite or remove the files of the winning attempt. `put` is followed by `keep` or
 * `discard`. If a crash or an outage prevents both, `sweep` finds the files by the attempt marker that `put` writes
 * first.
 */
export interface AssetStore {
  /** Stores the files of one attempt. The keys contain a random part, so that the public URLs cannot be guessed. */
  put(jobId: string, ...files: Files): Promise<AssetKeys>;

  /** Stores the sample of the test key. Its folder is a hash of its content, so URLs of older samples stay valid. */
  putSample(model: Uint8Array, thumbnail: Uint8Array): Promise<AssetKeys>;

  /** Streams the content of a key instead of reading it whole. Undefined if the key does not exist. */
  open(key: string): Promise<{ bytes: Readable; size: number } | undefined>;

  has(key: string): Promise<boolean>;

  /** Marks files as permanent, once the job is recorded as finished with them. */
  keep(keys: AssetKeys): Promise<void>;

  /** Removes the files of an attempt that lost its lease. */
  discard(keys: AssetKeys): Promise<void>;

  /**
   * Removes the files of all attempts at a job, but not their markers: an attempt may still be writing, and the sweep
   * removes what it has written. Idempotent.
   * @throws if the store is unavailable
   */
  erase(jobId: string): Promise<void>;

  /**
   * Settles unsettled attempts older than `olderThan` (milliseconds since 1970) whose job is finished: keeps the files
   * recorded with the job, and removes all others. A job whose record was deleted keeps its files.
   */
  sweep(olderThan: number, outcomeOf: (jobId: string) => Promise<Outcome | undefined>): Promise<void>;
}

export const newAttempt = (jobId: string): string => `${jobId}/${randomToken(22)}`;

export function sampleFolder(model: Uint8Array, thumbnail: Uint8Array): string {
  return `sample/${createHash('sha256').update(model).update(thumbnail).digest('hex').slice(0, 16)}`;
}

export const keysOf = (folder: string): AssetKeys => ({
  modelKey: `${folder}/model.glb`,
  thumbnailKey: `${folder}/thumbnail.jpg`,
});

export const transparentThumbnailKey = (folder: string): string => `${folder}/thumbnail.webp`;

/** Writes the files of an attempt, or of the sample, with `write`, which stores one file under its key. */
export async function writeFiles(
  write: (key: string, bytes: Uint8Array) => Promise<void>,
  folder: string,
  ...[model, thumbnail, transparentThumbnail]: Files
): Promise<AssetKeys> {
  const keys = keysOf(folder);
  await write(keys.modelKey, model);
  await write(keys.thumbnailKey, thumbnail);
  if (transparentThumbnail) await write(transparentThumbnailKey(folder), transparentThumbnail);
  return keys;
}

/** Returns the folder of an attempt, or of the sample. */
export const folderOf = ({ modelKey }: AssetKeys): string => modelKey.slice(0, modelKey.lastIndexOf('/'));

/** Names an attempt's marker. Neither a job's id nor the random part contains a dot. */
export const attemptMarkerOf = (attempt: string): string => attempt.replace('/', '.');

/** Settles one attempt by its marker. */
export async function settle(
  store: Pick<AssetStore, 'keep' | 'discard'>,
  marker: string,
  outcomeOf: (jobId: string) => Promise<Outcome | undefined>,
): Promise<void> {
  const keys = keysOf(marker.replace('.', '/'));
  const outcome = await outcomeOf(marker.slice(0, marker.indexOf('.')));
  if (!outcome || outcome.modelKey === keys.modelKey) await store.keep(keys);
  else if (outcome.finished) await store.discard(keys);
}
