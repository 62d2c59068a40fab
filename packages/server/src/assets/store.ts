import { createHash } from 'node:crypto';
import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { syncFolder, writeDurably } from '../durable-file.js';
import { randomToken } from '../ids.js';

const modelFile = 'model.glb';
const thumbnailFile = 'thumbnail.jpg';
/** One empty file for each attempt that may have stored something and has not said what became of it. Never served: a dot. */
const unsettled = '.unsettled';

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
 * Finished models and thumbnails on the local disk. A key is a path below the assets URL, and never changes its content.
 *
 * Each attempt at a job has a folder of its own and touches no other, so an attempt that lost its lease, and even one that
 * was frozen and goes on long after, overwrites and removes nothing of the one that won. `put` is followed by `keep` or
 * `discard`; what a crash leaves in between, `sweep` finds.
 */
export class AssetStore {
  constructor(readonly folder: string) {}

  /** Stores what one attempt made. The random part keeps the URLs, which need no key, from being guessed from a job's id. */
  async put(jobId: string, model: Uint8Array, thumbnail: Uint8Array): Promise<AssetKeys> {
    const attempt = `${jobId}/${randomToken(22)}`;
    await mkdir(join(this.folder, unsettled), { recursive: true });
    // Not synced: after a power cut the worst is a file that nobody names.
    await writeFile(this.#marker(attempt), '');
    try {
      return await this.#write(attempt, model, thumbnail);
    } catch (error) {
      // A full disk, most likely: half an attempt would only keep it so.
      await this.#remove(attempt);
      throw error;
    }
  }

  /** Stores the sample of the test key. The folder is named for its content: a new sample leaves the old URLs alone. */
  async putSample(model: Uint8Array, thumbnail: Uint8Array): Promise<AssetKeys> {
    const digest = createHash('sha256').update(model).update(thumbnail).digest('hex').slice(0, 16);
    return this.#write(`sample/${digest}`, model, thumbnail);
  }

  /** The job is recorded as finished with these: they stay for ever. */
  async keep({ modelKey }: AssetKeys): Promise<void> {
    await rm(this.#marker(dirname(modelKey)), { force: true });
  }

  /** Removes what an attempt stored when its job turned out not to be ours to finish. */
  async discard({ modelKey }: AssetKeys): Promise<void> {
    await this.#remove(dirname(modelKey));
  }

  /**
   * Settles the attempts older than `olderThan` (milliseconds since 1970) that ended without a word, once their job is
   * finished: what is recorded with it stays, the rest goes. A job that has no record any more keeps its files.
   */
  async sweep(olderThan: number, outcomeOf: (jobId: string) => Promise<Outcome | undefined>): Promise<void> {
    const names = await readdir(join(this.folder, unsettled)).catch(() => []);
    for (const name of names) {
      const attempt = name.replace('.', '/');
      const marker = await stat(this.#marker(attempt)).catch(() => undefined); // settled meanwhile
      if (!marker || marker.mtimeMs >= olderThan) continue;
      const keys = keysOf(attempt);
      const outcome = await outcomeOf(dirname(attempt));
      if (!outcome || outcome.modelKey === keys.modelKey) await this.keep(keys);
      else if (outcome.finished) await this.discard(keys);
    }
  }

  #marker(attempt: string): string {
    return join(this.folder, unsettled, attempt.replace('/', '.'));
  }

  async #write(folder: string, model: Uint8Array, thumbnail: Uint8Array): Promise<AssetKeys> {
    const keys = keysOf(folder);
    await writeDurably(join(this.folder, keys.modelKey), model);
    await writeDurably(join(this.folder, keys.thumbnailKey), thumbnail);
    // The folders are new as well, and each is an entry of the one above.
    await syncFolder(join(this.folder, dirname(folder)));
    await syncFolder(this.folder);
    return keys;
  }

  async #remove(attempt: string): Promise<void> {
    await rm(join(this.folder, attempt), { recursive: true, force: true });
    await rm(this.#marker(attempt), { force: true });
  }
}

const keysOf = (folder: string): AssetKeys => ({
  modelKey: `${folder}/${modelFile}`,
  thumbnailKey: `${folder}/${thumbnailFile}`,
});
