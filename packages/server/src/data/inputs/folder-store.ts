import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { writeDurably } from '../../base/durable-file.js';
import type { InputStore } from './input-store.js';
import { UnreadablePhotoError } from './unreadable.js';

/** Photos on the local disk, each a file with its job's name. */
export class FolderInputStore implements InputStore {
  constructor(readonly folder: string) {}

  async put(jobId: string, photo: Uint8Array): Promise<void> {
    await writeDurably(join(this.folder, jobId), photo);
  }

  async replace(jobId: string, prepared: Uint8Array): Promise<void> {
    await this.put(jobId, prepared);
  }

  async read(jobId: string): Promise<Uint8Array> {
    try {
      return await readFile(join(this.folder, jobId));
    } catch (cause) {
      const { message } = cause as NodeJS.ErrnoException;
      throw new UnreadablePhotoError(`the photo of job ${jobId} cannot be read: ${message}`, { cause });
    }
  }

  async remove(jobId: string): Promise<void> {
    await rm(join(this.folder, jobId), { force: true });
  }

  async sweep(olderThan: number, isNeeded: (jobId: string) => Promise<boolean>): Promise<void> {
    for (const name of await readdir(this.folder)) {
      const found = await stat(join(this.folder, name)).catch(ifMissing); // its job has just finished
      if (found && found.mtimeMs < olderThan && !(await isNeeded(name))) await this.remove(name);
    }
  }
}

function ifMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
