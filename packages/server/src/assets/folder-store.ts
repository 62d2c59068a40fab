import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { syncFolder, writeDurably } from '../durable-file.js';
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
} from './store.js';

/** One empty file for each attempt that may have stored something and has not said what became of it. Never served: a dot. */
const unsettled = '.unsettled';

/** Assets on the local disk. */
export class FolderAssetStore implements AssetStore {
  constructor(readonly folder: string) {}

  async put(jobId: string, model: Uint8Array, thumbnail: Uint8Array): Promise<AssetKeys> {
    const attempt = newAttempt(jobId);
    await mkdir(join(this.folder, unsettled), { recursive: true });
    // Not synced: after a power cut the worst is a file that nobody names.
    await writeFile(this.#mark(attempt), '');
    try {
      return await this.#write(attempt, model, thumbnail);
    } catch (error) {
      // A full disk, most likely: half an attempt would only keep it so.
      await this.#remove(attempt);
      throw error;
    }
  }

  async putSample(model: Uint8Array, thumbnail: Uint8Array): Promise<AssetKeys> {
    return this.#write(sampleFolder(model, thumbnail), model, thumbnail);
  }

  async keep(keys: AssetKeys): Promise<void> {
    await rm(this.#mark(folderOf(keys)), { force: true });
  }

  async discard(keys: AssetKeys): Promise<void> {
    await this.#remove(folderOf(keys));
  }

  async sweep(olderThan: number, outcomeOf: (jobId: string) => Promise<Outcome | undefined>): Promise<void> {
    const marks = await readdir(join(this.folder, unsettled)).catch(() => []);
    for (const mark of marks) {
      const found = await stat(join(this.folder, unsettled, mark)).catch(() => undefined); // settled meanwhile
      if (found && found.mtimeMs < olderThan) await settle(this, mark, outcomeOf);
    }
  }

  #mark(attempt: string): string {
    return join(this.folder, unsettled, markOf(attempt));
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
    await rm(this.#mark(attempt), { force: true });
  }
}
