import type { Readable } from 'node:stream';
import { isStorageUnavailable } from '../../base/errors.js';
import {
  type AssetKeys,
  type AssetStore,
  attemptMarkerOf,
  type Files,
  folderOf,
  newAttempt,
  type Outcome,
  sampleFolder,
  settle,
  transparentThumbnailKey,
  writeFiles,
} from '../../data/assets/asset-store.js';
import type { Bucket, Content } from './bucket.js';

/** Only keys with this prefix can be read without credentials. The assets URL points here. */
export const assetsPrefix = 'assets/';
/** Prefix of the attempt markers, which are empty objects. */
const unsettledPrefix = 'unsettled/';

/** The content of a key never changes, so it may be cached forever. */
const cacheControl = 'public, max-age=31536000, immutable';
const contentOf: Record<string, Content> = {
  glb: { type: 'model/gltf-binary', cacheControl },
  jpg: { type: 'image/jpeg', cacheControl },
  webp: { type: 'image/webp', cacheControl },
};
const marker: Content = { type: 'application/octet-stream' };

/** Far below the age at which the sweep settles an attempt, so that no write comes after the sweep. */
const transferTimeoutMs = 5 * 60_000;
const requestTimeoutMs = 60_000;

/**
 * Assets in a bucket. Objects are written atomically and are strongly consistent. `keep` and `discard` also resolve
 * while the store is unavailable; the sweep finishes their work.
 */
export class S3AssetStore implements AssetStore {
  readonly #bucket: Bucket;

  constructor(bucket: Bucket) {
    this.#bucket = bucket;
  }

  async put(jobId: string, ...files: Files): Promise<AssetKeys> {
    const attempt = newAttempt(jobId);
    await this.#bucket.put(this.#markerKey(attempt), new Uint8Array(), marker, requestTimeoutMs);
    // On failure the marker stays: the store may still carry out a write that timed out, and the sweep comes later.
    return this.#write(attempt, ...files);
  }

  async putSample(model: Uint8Array, thumbnail: Uint8Array): Promise<AssetKeys> {
    return this.#write(sampleFolder(model, thumbnail), model, thumbnail);
  }

  open(key: string): Promise<{ bytes: Readable; size: number } | undefined> {
    return this.#bucket.open(assetsPrefix + key, requestTimeoutMs);
  }

  async has(key: string): Promise<boolean> {
    return this.#bucket.has(assetsPrefix + key, requestTimeoutMs);
  }

  async keep(keys: AssetKeys): Promise<void> {
    await ignoreUnavailable(this.#bucket.remove(this.#markerKey(folderOf(keys)), requestTimeoutMs));
  }

  async discard(keys: AssetKeys): Promise<void> {
    await ignoreUnavailable(this.#remove(keys));
  }

  async erase(jobId: string): Promise<void> {
    for await (const { key } of this.#bucket.list(`${assetsPrefix}${jobId}/`, requestTimeoutMs)) {
      await this.#bucket.remove(key, requestTimeoutMs);
    }
  }

  async sweep(olderThan: number, outcomeOf: (jobId: string) => Promise<Outcome | undefined>): Promise<void> {
    // Errors are not ignored here: a store that forbids deletion would fill up unnoticed.
    const strict = {
      keep: (keys: AssetKeys) => this.#bucket.remove(this.#markerKey(folderOf(keys)), requestTimeoutMs),
      discard: (keys: AssetKeys) => this.#remove(keys),
    };
    for await (const { key, modifiedAt } of this.#bucket.list(unsettledPrefix, requestTimeoutMs)) {
      if (modifiedAt < olderThan) await settle(strict, key.slice(unsettledPrefix.length), outcomeOf);
    }
  }

  #markerKey(attempt: string): string {
    return unsettledPrefix + attemptMarkerOf(attempt);
  }

  #write(folder: string, ...files: Files): Promise<AssetKeys> {
    const write = async (key: string, bytes: Uint8Array) => {
      const content = contentOf[key.slice(key.lastIndexOf('.') + 1)];
      if (!content) throw new Error(`an asset with the key ${key} has no media type`);
      await this.#bucket.put(assetsPrefix + key, bytes, content, transferTimeoutMs);
    };
    return writeFiles(write, folder, ...files);
  }

  async #remove(keys: AssetKeys): Promise<void> {
    await this.#bucket.remove(assetsPrefix + keys.modelKey, requestTimeoutMs);
    await this.#bucket.remove(assetsPrefix + keys.thumbnailKey, requestTimeoutMs);
    await this.#bucket.remove(assetsPrefix + transparentThumbnailKey(folderOf(keys)), requestTimeoutMs);
    // Last, so that the sweep can find files that were not removed.
    await this.#bucket.remove(this.#markerKey(folderOf(keys)), requestTimeoutMs);
  }
}

async function ignoreUnavailable(work: Promise<void>): Promise<void> {
  await work.catch((error: unknown) => {
    if (!isStorageUnavailable(error)) throw error;
  });
}
