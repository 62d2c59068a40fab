import type { PhotoSide } from '@gen3d/schema/rules';
import { isStorageUnavailable } from '../../base/errors.js';
import { randomToken } from '../../base/ids.js';
import { type InputStore, UnreadableImageError } from '../../data/inputs/input-store.js';
import type { Bucket } from './bucket.js';

/** Inputs are outside the assets URL, so they stay private. */
export const inputsPrefix = 'inputs/';

/** Short, because a client waits for its 202. */
const putTimeoutMs = 20_000;
const readTimeoutMs = 60_000;
const requestTimeoutMs = 30_000;

/**
 * Images in a bucket, so that workers on other machines can read them. A key is the job's id, the side and a random
 * part, which a listing finds: job ids are not secret, and must not reveal an image in a bucket that is accidentally
 * public.
 */
export class S3InputStore implements InputStore {
  readonly #bucket: Bucket;

  constructor(bucket: Bucket) {
    this.#bucket = bucket;
  }

  async put(jobId: string, side: PhotoSide, image: Uint8Array): Promise<void> {
    try {
      await this.#putNew(jobId, side, image);
    } catch (error) {
      // The write may have succeeded and only the response was lost. Not awaited; the sweep removes what is left.
      void this.remove(jobId);
      throw error;
    }
  }

  async replace(jobId: string, side: PhotoSide, prepared: Uint8Array): Promise<void> {
    // Listed before storing the new object, so that two concurrent calls never remove both objects.
    const replaced: string[] = [];
    for await (const { key } of this.#bucket.list(prefixOf(jobId, side), requestTimeoutMs)) replaced.push(key);
    await this.#putNew(jobId, side, prepared);
    for (const key of replaced) await this.#bucket.remove(key, requestTimeoutMs);
  }

  read(jobId: string, side: PhotoSide): Promise<Uint8Array> {
    return this.#find(jobId, side, (key) => this.#bucket.get(key, readTimeoutMs));
  }

  async copy(jobId: string, side: PhotoSide, newJobId: string): Promise<void> {
    await this.#find(jobId, side, (key) => this.#bucket.copy(key, newKeyOf(newJobId, side), requestTimeoutMs));
  }

  async remove(jobId: string): Promise<void> {
    try {
      await this.erase(jobId);
    } catch (error) {
      // The store is unavailable; the sweep removes the image later.
      if (!isStorageUnavailable(error)) throw error;
    }
  }

  async erase(jobId: string): Promise<void> {
    for await (const { key } of this.#bucket.list(prefixOf(jobId), requestTimeoutMs)) {
      await this.#bucket.remove(key, requestTimeoutMs);
    }
  }

  async sweep(olderThan: number, isNeeded: (jobId: string) => Promise<boolean>): Promise<void> {
    for await (const { key, modifiedAt } of this.#bucket.list(inputsPrefix, requestTimeoutMs)) {
      const jobId = key.slice(inputsPrefix.length, key.indexOf('.'));
      if (modifiedAt < olderThan && !(await isNeeded(jobId))) await this.#bucket.remove(key, requestTimeoutMs);
    }
  }

  /** Uses the first of the image's objects that exists. A concurrent `replace` may remove one after the listing. */
  async #find<T>(jobId: string, side: PhotoSide, use: (key: string) => Promise<T | undefined>): Promise<T> {
    for await (const { key } of this.#bucket.list(prefixOf(jobId, side), requestTimeoutMs)) {
      const result = await use(key);
      if (result !== undefined) return result;
    }
    throw new UnreadableImageError(jobId, side, 'it is not in the object store');
  }

  async #putNew(jobId: string, side: PhotoSide, image: Uint8Array): Promise<void> {
    await this.#bucket.put(newKeyOf(jobId, side), image, { type: 'application/octet-stream' }, putTimeoutMs);
  }
}

/** Returns what the keys of a job's images begin with, or those of one side. */
const prefixOf = (jobId: string, side?: PhotoSide) => `${inputsPrefix}${jobId}.${side === undefined ? '' : `${side}.`}`;

const newKeyOf = (jobId: string, side: PhotoSide) => `${prefixOf(jobId, side)}${randomToken(22)}`;
