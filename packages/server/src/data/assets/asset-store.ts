import { createHash } from 'node:crypto';
import { randomToken } from '../../base/ids.js';

export interface AssetKeys {
  modelKey: string;
  thumbnailKey: string;
}

/** What is recorded about a job: whether it is over, and which model is its own then. */
export interface Outcome {
  finished: boolean;
  modelKey: string | null;
}

/**
 * Finished models and thumbnails. A key is a path below the assets URL, the same in every store, and never changes its
 * content.
 *
 * Each attempt at a job has a folder of its own and touches no other, so an attempt that lost its lease, and even one that
 * was frozen and goes on long after, overwrites and removes nothing of the one that won. `put` is followed by `keep` or
 * `discard`; what a crash or an outage leaves in between, `sweep` finds by the mark that `put` makes first.
 */
export interface AssetStore {
  /** Stores what one attempt made. The random part keeps the URLs, which need no key, from being guessed from a job's id. */
  put(jobId: string, model: Uint8Array, thumbnail: Uint8Array): Promise<AssetKeys>;

  /** Stores the sample of the test key. The folder is named for its content: a new sample leaves the old URLs alone. */
  putSample(model: Uint8Array, thumbnail: Uint8Array): Promise<AssetKeys>;

  /** The bytes under a key; undefined where there are none. */
  read(key: string): Promise<Uint8Array | undefined>;

  /** Whether there are bytes under a key. */
  has(key: string): Promise<boolean>;

  /** Stores a finished asset under the key that it has in another store. */
  write(key: string, bytes: Uint8Array): Promise<void>;

  /** The job is recorded as finished with these: they stay for ever. */
  keep(keys: AssetKeys): Promise<void>;

  /** Removes what an attempt stored when its job turned out not to be ours to finish. */
  discard(keys: AssetKeys): Promise<void>;

  /**
   * Settles the attempts older than `olderThan` (milliseconds since 1970) that ended without a word, once their job is
   * finished: what is recorded with it stays, the rest goes. A job that has no record any more keeps its files.
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

/** The folder of an attempt, or of the sample. */
export const folderOf = ({ modelKey }: AssetKeys): string => modelKey.slice(0, modelKey.lastIndexOf('/'));

/** The name of an attempt's mark: neither a job's id nor the random part has a dot. */
export const markOf = (attempt: string): string => attempt.replace('/', '.');

/** Settles one attempt that ended without a word. */
export async function settle(
  store: Pick<AssetStore, 'keep' | 'discard'>,
  mark: string,
  outcomeOf: (jobId: string) => Promise<Outcome | undefined>,
): Promise<void> {
  const keys = keysOf(mark.replace('.', '/'));
  const outcome = await outcomeOf(mark.slice(0, mark.indexOf('.')));
  if (!outcome || outcome.modelKey === keys.modelKey) await store.keep(keys);
  else if (outcome.finished) await store.discard(keys);
}
