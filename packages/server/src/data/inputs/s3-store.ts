import { randomToken } from '../../base/ids.js';
import type { Bucket } from '../s3/bucket.js';
import { isStorageUnavailable } from '../s3/unavailable.js';
import type { InputStore } from './input-store.js';
import { UnreadablePhotoError } from './unreadable.js';

/** Never below the assets URL. */
export const inputsPrefix = 'inputs/';

/** A caller waits for its 202 meanwhile. */
const putMs = 20_000;
const readMs = 60_000;
const smallMs = 30_000;

/**
 * Photos in a bucket, so that a worker on another machine can read them. A key is the job's id and a random part: a job's id
 * is no secret, and nobody shall find a photo by it in a bucket that was opened too far. Listing finds it for us.
 */
export class S3InputStore implements InputStore {
  constructor(private readonly bucket: Bucket) {}

  async put(jobId: string, photo: Uint8Array): Promise<void> {
    try {
      await this.#putAnother(jobId, photo);
    } catch (error) {
      // The write may have been carried out and only its answer lost. Nobody waits for this; the sweep comes after it.
      void this.remove(jobId);
      throw error;
    }
  }

  async replace(jobId: string, prepared: Uint8Array): Promise<void> {
    // Listed before the new object is stored: of two processes that replace concurrently, neither removes both objects.
    const replaced: string[] = [];
    for await (const { key } of this.bucket.list(this.#start(jobId), smallMs)) replaced.push(key);
    await this.#putAnother(jobId, prepared);
    for (const key of replaced) await this.bucket.remove(key, smallMs);
  }

  async read(jobId: string): Promise<Uint8Array> {
    for await (const { key } of this.bucket.list(this.#start(jobId), smallMs)) {
      const photo = await this.bucket.get(key, readMs);
      if (photo) return photo;
    }
    throw new UnreadablePhotoError(`the photo of job ${jobId} is not in the object store`);
  }

  async remove(jobId: string): Promise<void> {
    try {
      for await (const { key } of this.bucket.list(this.#start(jobId), smallMs)) await this.bucket.remove(key, smallMs);
    } catch (error) {
      // The store is away: the sweep finds what is left.
      if (!isStorageUnavailable(error)) throw error;
    }
  }

  async sweep(olderThan: number, isNeeded: (jobId: string) => Promise<boolean>): Promise<void> {
    for await (const { key, modifiedAt } of this.bucket.list(inputsPrefix, smallMs)) {
      const jobId = key.slice(inputsPrefix.length, key.indexOf('.'));
      if (modifiedAt < olderThan && !(await isNeeded(jobId))) await this.bucket.remove(key, smallMs);
    }
  }

  async #putAnother(jobId: string, image: Uint8Array): Promise<void> {
    const key = `${this.#start(jobId)}${randomToken(22)}`;
    await this.bucket.put(key, image, { type: 'application/octet-stream' }, putMs);
  }

  #start(jobId: string): string {
    return `${inputsPrefix}${jobId}.`;
  }
}
