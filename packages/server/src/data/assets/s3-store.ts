import type { Bucket, Content } from '../s3/bucket.js';
import { isStorageUnavailable } from '../s3/unavailable.js';
import {
  type AssetKeys,
  type AssetStore,
  folderOf,
  keysOf,
  markOf,
  newAttempt,
  type Outcome,
  sampleFolder,
  settle,
} from './asset-store.js';

/** The only keys that anybody may read without credentials: the assets URL leads here. */
export const assetsPrefix = 'assets/';
/** One empty object for each attempt that may have stored something and has not said what became of it. */
const unsettledPrefix = 'unsettled/';

/** Content never changes under its key, so whoever has it need not ask again. */
const cacheControl = 'public, max-age=31536000, immutable';
const model: Content = { type: 'model/gltf-binary', cacheControl };
const thumbnail: Content = { type: 'image/jpeg', cacheControl };
const mark: Content = { type: 'application/octet-stream' };

/** Far below the age at which the sweep looks at an attempt, so that nothing is written behind its back. */
const writeMs = 5 * 60_000;
const smallMs = 60_000;

/**
 * Assets in a bucket. An object is there whole or not at all, and strongly consistent, so a model is seen complete or not.
 * The store being away keeps neither `keep` nor `discard` from returning: what they leave, the sweep finds.
 */
export class S3AssetStore implements AssetStore {
  constructor(private readonly bucket: Bucket) {}

  async put(jobId: string, modelBytes: Uint8Array, thumbnailBytes: Uint8Array): Promise<AssetKeys> {
    const attempt = newAttempt(jobId);
    await this.bucket.put(this.#mark(attempt), new Uint8Array(), mark, smallMs);
    // A failure leaves the mark: a write that was given up may still be carried out, and only the sweep comes late enough
    // to find all of it.
    return this.#write(attempt, modelBytes, thumbnailBytes);
  }

  async putSample(modelBytes: Uint8Array, thumbnailBytes: Uint8Array): Promise<AssetKeys> {
    return this.#write(sampleFolder(modelBytes, thumbnailBytes), modelBytes, thumbnailBytes);
  }

  async read(key: string): Promise<Uint8Array | undefined> {
    return this.bucket.get(assetsPrefix + key, writeMs);
  }

  async has(key: string): Promise<boolean> {
    return this.bucket.has(assetsPrefix + key, smallMs);
  }

  async write(key: string, bytes: Uint8Array): Promise<void> {
    await this.bucket.put(assetsPrefix + key, bytes, key.endsWith('.glb') ? model : thumbnail, writeMs);
  }

  async keep(keys: AssetKeys): Promise<void> {
    await leftToSweep(this.bucket.remove(this.#mark(folderOf(keys)), smallMs));
  }

  async discard(keys: AssetKeys): Promise<void> {
    await leftToSweep(this.#remove(keys));
  }

  async sweep(olderThan: number, outcomeOf: (jobId: string) => Promise<Outcome | undefined>): Promise<void> {
    // Here an error counts: a store that permits no deletion would fill up unseen.
    const strictly = {
      keep: (keys: AssetKeys) => this.bucket.remove(this.#mark(folderOf(keys)), smallMs),
      discard: (keys: AssetKeys) => this.#remove(keys),
    };
    for await (const { key, modifiedAt } of this.bucket.list(unsettledPrefix, smallMs)) {
      if (modifiedAt < olderThan) await settle(strictly, key.slice(unsettledPrefix.length), outcomeOf);
    }
  }

  #mark(attempt: string): string {
    return unsettledPrefix + markOf(attempt);
  }

  async #write(folder: string, modelBytes: Uint8Array, thumbnailBytes: Uint8Array): Promise<AssetKeys> {
    const keys = keysOf(folder);
    await this.write(keys.modelKey, modelBytes);
    await this.write(keys.thumbnailKey, thumbnailBytes);
    return keys;
  }

  async #remove(keys: AssetKeys): Promise<void> {
    await this.bucket.remove(assetsPrefix + keys.modelKey, smallMs);
    await this.bucket.remove(assetsPrefix + keys.thumbnailKey, smallMs);
    // Last: as long as anything is left, the sweep must find it.
    await this.bucket.remove(this.#mark(folderOf(keys)), smallMs);
  }
}

async function leftToSweep(work: Promise<void>): Promise<void> {
  await work.catch((error: unknown) => {
    if (!isStorageUnavailable(error)) throw error;
  });
}
