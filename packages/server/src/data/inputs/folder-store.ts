import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { writeDurably } from '../../base/durable-file.js';
import { type InputStore, UnreadableImageError } from './input-store.js';

/** Images on the local disk, each in a file named by its job's id. */
export class FolderInputStore implements InputStore {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  async put(jobId: string, image: Uint8Array): Promise<void> {
    await writeDurably(join(this.folder, jobId), image);
  }

  async replace(jobId: string, prepared: Uint8Array): Promise<void> {
    await this.put(jobId, prepared);
  }

  async read(jobId: string): Promise<Uint8Array> {
    try {
      return await readFile(join(this.folder, jobId));
    } catch (cause) {
      const { message } = cause as NodeJS.ErrnoException;
      throw new UnreadableImageError(`The image of job ${jobId} cannot be read: ${message}`, { cause });
    }
  }

  async remove(jobId: string): Promise<void> {
    await rm(join(this.folder, jobId), { force: true });
  }

  async sweep(olderThan: number, isNeeded: (jobId: string) => Promise<boolean>): Promise<void> {
    for (const name of await readdir(this.folder)) {
      const found = await stat(join(this.folder, name)).catch(ifMissing); // its job finished meanwhile
      if (found && found.mtimeMs < olderThan && !(await isNeeded(name))) await this.remove(name);
    }
  }
}

function ifMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
