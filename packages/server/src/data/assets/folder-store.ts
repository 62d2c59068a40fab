import { mkdir, opendir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { syncFolder, writeDurably } from '../../base/durable-file.js';
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

  async read(key: string): Promise<Uint8Array | undefined> {
    try {
      return await readFile(join(this.folder, key));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  }

  async has(key: string): Promise<boolean> {
    return (await stat(join(this.folder, key)).catch(() => undefined)) !== undefined;
  }

  async write(key: string, bytes: Uint8Array): Promise<void> {
    await writeDurably(join(this.folder, key), bytes);
    await this.#syncFoldersOf(dirname(key));
  }

  /**
   * Every asset that is somebody's, once nobody writes here any more: what an attempt left behind that came to nothing is
   * not among them.
   */
  async *keys(outcomeOf: (jobId: string) => Promise<Outcome | undefined>): AsyncGenerator<string> {
    const abandoned = new Set<string>();
    for (const mark of await this.#marks()) {
      abandoned.add(mark);
      const keep = async (keys: AssetKeys) => void abandoned.delete(markOf(folderOf(keys)));
      await settle({ keep, discard: async () => {} }, mark, outcomeOf);
    }
    for await (const job of visible(this.folder)) {
      for await (const attempt of visible(join(this.folder, job))) {
        const folder = `${job}/${attempt}`;
        if (abandoned.has(markOf(folder))) continue;
        for await (const file of visible(join(this.folder, folder))) yield `${folder}/${file}`;
      }
    }
  }

  async keep(keys: AssetKeys): Promise<void> {
    await rm(this.#mark(folderOf(keys)), { force: true });
  }

  async discard(keys: AssetKeys): Promise<void> {
    await this.#remove(folderOf(keys));
  }

  async sweep(olderThan: number, outcomeOf: (jobId: string) => Promise<Outcome | undefined>): Promise<void> {
    for (const mark of await this.#marks()) {
      const found = await stat(join(this.folder, unsettled, mark)).catch(() => undefined); // settled meanwhile
      if (found && found.mtimeMs < olderThan) await settle(this, mark, outcomeOf);
    }
  }

  #marks(): Promise<string[]> {
    return readdir(join(this.folder, unsettled)).catch(() => []);
  }

  #mark(attempt: string): string {
    return join(this.folder, unsettled, markOf(attempt));
  }

  async #write(folder: string, model: Uint8Array, thumbnail: Uint8Array): Promise<AssetKeys> {
    const keys = keysOf(folder);
    await writeDurably(join(this.folder, keys.modelKey), model);
    await writeDurably(join(this.folder, keys.thumbnailKey), thumbnail);
    await this.#syncFoldersOf(folder);
    return keys;
  }

  /** The folders are new as well, and each is an entry of the one above. */
  async #syncFoldersOf(folder: string): Promise<void> {
    await syncFolder(join(this.folder, dirname(folder)));
    await syncFolder(this.folder);
  }

  async #remove(attempt: string): Promise<void> {
    await rm(join(this.folder, attempt), { recursive: true, force: true });
    await rm(this.#mark(attempt), { force: true });
  }
}

/** Names in a folder but those that start with a dot: files still being written, and our marks. */
async function* visible(folder: string): AsyncGenerator<string> {
  for await (const { name } of await opendir(folder)) if (!name.startsWith('.')) yield name;
}
