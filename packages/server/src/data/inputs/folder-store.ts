import { open, readdir, readFile, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { syncFolder } from '@gen3d/engine/files';
import { copyDurably, writeDurably } from '../../base/durable-file.js';
import { ifMissing } from '../../base/errors.js';
import { type ImageStream, type InputStore, UnreadableImageError } from './input-store.js';

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

  read(jobId: string): Promise<Uint8Array> {
    return readable(jobId, readFile(join(this.folder, jobId)));
  }

  async open(jobId: string): Promise<ImageStream> {
    const file = await readable(jobId, open(join(this.folder, jobId)));
    const { size } = await file.stat();
    return { bytes: file.createReadStream(), size };
  }

  async copy(jobId: string, newJobId: string): Promise<void> {
    const path = join(this.folder, jobId);
    const now = new Date();
    // The copy is a second name of the file. To the sweep it must not look as old as the original.
    await readable(jobId, utimes(path, now, now));
    await copyDurably(path, join(this.folder, newJobId));
  }

  async remove(jobId: string): Promise<void> {
    await rm(join(this.folder, jobId), { force: true });
  }

  async erase(jobId: string): Promise<void> {
    await this.remove(jobId);
    for (const name of await readdir(this.folder)) {
      if (name.startsWith(`.${jobId}.`)) await rm(join(this.folder, name), { force: true });
    }
    await syncFolder(this.folder);
  }

  async jobIds(): Promise<string[]> {
    // Names of drafts start with a dot.
    return (await readdir(this.folder)).filter((name) => !name.startsWith('.'));
  }

  async sweep(olderThan: number, isNeeded: (jobId: string) => Promise<boolean>): Promise<void> {
    for (const name of await readdir(this.folder)) {
      const found = await stat(join(this.folder, name)).catch(ifMissing(undefined)); // its job finished meanwhile
      if (found && found.mtimeMs < olderThan && !(await isNeeded(name))) await this.remove(name);
    }
  }
}

async function readable<T>(jobId: string, access: Promise<T>): Promise<T> {
  try {
    return await access;
  } catch (cause) {
    const { message } = cause as NodeJS.ErrnoException;
    throw new UnreadableImageError(`The image of job ${jobId} cannot be read: ${message}`, { cause });
  }
}
