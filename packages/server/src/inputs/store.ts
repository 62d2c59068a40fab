import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { writeDurably } from '../durable-file.js';

/** Photos that came inside a request, one file per job, kept until the job is finished. Nothing here is ever served. */
export class InputStore {
  constructor(readonly folder: string) {}

  /** Stores a job's photo; when this resolves it survives a crash. */
  async put(jobId: string, photo: Uint8Array): Promise<void> {
    await writeDurably(join(this.folder, jobId), photo);
  }

  async read(jobId: string): Promise<Uint8Array> {
    return readFile(join(this.folder, jobId));
  }

  async remove(jobId: string): Promise<void> {
    await rm(join(this.folder, jobId), { force: true });
  }

  /** Removes files older than `olderThan` (milliseconds since 1970) that `isNeeded` does not claim: a crash left them. */
  async sweep(olderThan: number, isNeeded: (jobId: string) => Promise<boolean>): Promise<void> {
    for (const name of await readdir(this.folder)) {
      const { mtimeMs } = await stat(join(this.folder, name));
      if (mtimeMs < olderThan && !(await isNeeded(name))) await rm(join(this.folder, name), { force: true });
    }
  }
}
