import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { syncFolder, writeDurably } from '../durable-file.js';
import { randomToken } from '../ids.js';

const modelFile = 'model.glb';
const thumbnailFile = 'thumbnail.jpg';

export interface AssetKeys {
  modelKey: string;
  thumbnailKey: string;
}

/** Finished models and thumbnails on the local disk. A key is a path below the assets URL, and never changes its content. */
export class AssetStore {
  constructor(readonly folder: string) {}

  /**
   * Stores what one attempt made, in a folder of its own, so an attempt that lost its lease overwrites nothing. The random
   * part keeps the URLs, which need no key, from being guessed from a job's id.
   */
  async put(jobId: string, model: Uint8Array, thumbnail: Uint8Array): Promise<AssetKeys> {
    return this.#write(`${jobId}/${randomToken(22)}`, model, thumbnail);
  }

  /** Stores the sample of the test key. The folder is named for its content: a new sample leaves the old URLs alone. */
  async putSample(model: Uint8Array, thumbnail: Uint8Array): Promise<AssetKeys> {
    const digest = createHash('sha256').update(model).update(thumbnail).digest('hex').slice(0, 16);
    return this.#write(`sample/${digest}`, model, thumbnail);
  }

  async #write(folder: string, model: Uint8Array, thumbnail: Uint8Array): Promise<AssetKeys> {
    const keys = { modelKey: `${folder}/${modelFile}`, thumbnailKey: `${folder}/${thumbnailFile}` };
    await writeDurably(join(this.folder, keys.modelKey), model);
    await writeDurably(join(this.folder, keys.thumbnailKey), thumbnail);
    // The folders are new as well, and each is an entry of the one above.
    await syncFolder(join(this.folder, dirname(folder)));
    await syncFolder(this.folder);
    return keys;
  }

  /** Removes what an attempt stored when its job turned out not to be ours to finish. */
  async discard({ modelKey }: AssetKeys): Promise<void> {
    await rm(join(this.folder, dirname(modelKey)), { recursive: true, force: true });
  }

  /** Removes what earlier attempts at a job left behind. Only while the job is unfinished: no URL names them yet. */
  async discardAll(jobId: string): Promise<void> {
    await rm(join(this.folder, jobId), { recursive: true, force: true });
  }
}
