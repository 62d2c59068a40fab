import { readdir, readFile, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { syncFolder } from '@gen3d/engine/files';
import { type PhotoSide, photoSides } from '@gen3d/schema/rules';
import { copyDurably, writeDurably } from '../../base/durable-file.js';
import { ifMissing } from '../../base/errors.js';
import { type InputStore, UnreadableImageError } from './input-store.js';

/** Images on the local disk, each in a file named by its job's id and the side that it shows. */
export class FolderInputStore implements InputStore {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  async put(jobId: string, side: PhotoSide, image: Uint8Array): Promise<void> {
    await writeDurably(this.#pathOf(jobId, side), image);
  }

  async replace(jobId: string, side: PhotoSide, prepared: Uint8Array): Promise<void> {
    await this.put(jobId, side, prepared);
  }

  read(jobId: string, side: PhotoSide): Promise<Uint8Array> {
    return readable(jobId, side, readFile(this.#pathOf(jobId, side)));
  }

  async copy(jobId: string, side: PhotoSide, newJobId: string): Promise<void> {
    const path = this.#pathOf(jobId, side);
    const now = new Date();
    // The copy is a second name of the file. To the sweep it must not look as old as the original.
    await readable(jobId, side, utimes(path, now, now));
    await copyDurably(path, this.#pathOf(newJobId, side));
  }

  async remove(jobId: string): Promise<void> {
    for (const side of photoSides) await rm(this.#pathOf(jobId, side), { force: true });
  }

  async erase(jobId: string): Promise<void> {
    await this.remove(jobId);
    for (const name of await readdir(this.folder)) {
      if (name.startsWith(`.${jobId}.`)) await rm(join(this.folder, name), { force: true });
    }
    await syncFolder(this.folder);
  }

  async sweep(olderThan: number, isNeeded: (jobId: string) => Promise<boolean>): Promise<void> {
    for (const name of await readdir(this.folder)) {
      const path = join(this.folder, name);
      const found = await stat(path).catch(ifMissing(undefined)); // its job finished meanwhile
      if (found && found.mtimeMs < olderThan && !(await isNeeded(jobIdIn(name)))) await rm(path, { force: true });
    }
  }

  #pathOf(jobId: string, side: PhotoSide): string {
    return join(this.folder, `${jobId}.${side}`);
  }
}

/** Returns the id in the name of an image. It is empty in that of a draft, which no job needs. */
const jobIdIn = (name: string) => name.split('.', 1)[0]!;

async function readable<T>(jobId: string, side: PhotoSide, access: Promise<T>): Promise<T> {
  try {
    return await access;
  } catch (cause) {
    throw new UnreadableImageError(jobId, side, (cause as NodeJS.ErrnoException).message, { cause });
  }
}
