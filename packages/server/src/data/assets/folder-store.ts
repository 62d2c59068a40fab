import { open, readdir, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { makeFolder, syncFolder } from '@gen3d/engine/files';
import { writeDurably } from '../../base/durable-file.js';
import { ifMissing } from '../../base/errors.js';
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
  writeFiles,
} from './asset-store.js';

/** Folder of the attempt markers. The asset server never serves names that start with a dot. */
const unsettled = '.unsettled';

/** Assets on the local disk. */
export class FolderAssetStore implements AssetStore {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  async put(jobId: string, ...files: Files): Promise<AssetKeys> {
    const attempt = newAttempt(jobId);
    await makeFolder(join(this.folder, unsettled));
    // This need not be synced: at worst, a power cut leaves an unreferenced file.
    await writeFile(this.#markerPath(attempt), '');
    try {
      return await this.#write(attempt, ...files);
    } catch (error) {
      // Most likely the disk is full; a partial attempt would waste space.
      await this.#remove(attempt);
      throw error;
    }
  }

  async putSample(model: Uint8Array, thumbnail: Uint8Array): Promise<AssetKeys> {
    return this.#write(sampleFolder(model, thumbnail), model, thumbnail);
  }

  async open(key: string): Promise<{ bytes: Readable; size: number } | undefined> {
    const file = await open(join(this.folder, key)).catch(ifMissing(undefined));
    return file && { bytes: file.createReadStream(), size: (await file.stat()).size };
  }

  async has(key: string): Promise<boolean> {
    return (await stat(join(this.folder, key)).catch(() => undefined)) !== undefined;
  }

  async keep(keys: AssetKeys): Promise<void> {
    await rm(this.#markerPath(folderOf(keys)), { force: true });
  }

  async discard(keys: AssetKeys): Promise<void> {
    await this.#remove(folderOf(keys));
  }

  async erase(jobId: string): Promise<void> {
    await rm(join(this.folder, jobId), { recursive: true, force: true });
    await syncFolder(this.folder);
  }

  async sweep(olderThan: number, outcomeOf: (jobId: string) => Promise<Outcome | undefined>): Promise<void> {
    for (const marker of await this.#markers()) {
      const found = await stat(join(this.folder, unsettled, marker)).catch(() => undefined); // settled meanwhile
      if (found && found.mtimeMs < olderThan) await settle(this, marker, outcomeOf);
    }
  }

  #markers(): Promise<string[]> {
    return readdir(join(this.folder, unsettled)).catch(() => []);
  }

  #markerPath(attempt: string): string {
    return join(this.folder, unsettled, attemptMarkerOf(attempt));
  }

  async #write(folder: string, ...files: Files): Promise<AssetKeys> {
    const keys = await writeFiles((key, bytes) => writeDurably(join(this.folder, key), bytes), folder, ...files);
    // The folders are new entries in their parents.
    await syncFolder(join(this.folder, dirname(folder)));
    await syncFolder(this.folder);
    return keys;
  }

  async #remove(attempt: string): Promise<void> {
    await rm(join(this.folder, attempt), { recursive: true, force: true });
    // Fails if the job has other attempts.
    await rmdir(join(this.folder, dirname(attempt))).catch(() => {});
    await rm(this.#markerPath(attempt), { force: true });
  }
}
