import { mkdtemp, readdir, rm, stat, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { errorMessage, isDiskFull } from '../../base/errors.js';
import { TemporaryFailure } from '../../work/stage-failures.js';

const mebibyte = 1024 ** 2;
const prefix = 'gen3d-model-';

const isFull = (folder: string, cause?: unknown) =>
  new TemporaryFailure(`the temporary folder ${folder} has no space for a model`, { cause });

/** Temporary folders for the files of a model server, each of which takes up to 512 MiB. */
export class ModelFolders {
  /** The free space when a model last did not fit. */
  #tooFewBytes = -mebibyte;

  constructor(readonly parent = tmpdir()) {}

  async freeBytes(): Promise<number> {
    const { bavail, bsize } = await statfs(this.parent);
    return bavail * bsize;
  }

  /** Removes the folder after `work`. @throws {TemporaryFailure} if a file does not fit */
  async use<T>(work: (folder: string) => Promise<T>): Promise<T> {
    const folder = await mkdtemp(join(this.parent, `${prefix}${process.pid}-`));
    const remove = () => rm(folder, { recursive: true, force: true });
    try {
      return await work(folder);
    } catch (error) {
      // An error of a child process has no code.
      if (!isDiskFull(error) && !errorMessage(error).startsWith('ENOSPC')) throw error;
      await remove();
      this.#tooFewBytes = await this.freeBytes();
      throw isFull(this.parent, error);
    } finally {
      await remove();
    }
  }

  /** After a model did not fit, returns a problem until there is more space, because another would not fit either. */
  async problem(): Promise<TemporaryFailure | undefined> {
    return (await this.freeBytes()) > this.#tooFewBytes + mebibyte ? undefined : isFull(this.parent);
  }
}

/** Removes the folders of processes that were killed. */
export async function removeLeftFolders(parent = tmpdir()): Promise<void> {
  const startedAt = Date.now() - 1_000 * process.uptime();
  for (const name of (await readdir(parent)).filter((one) => one.startsWith(prefix))) {
    const folder = join(parent, name);
    const pid = Number.parseInt(name.slice(prefix.length), 10);
    // In a container, a restarted process often gets the same id.
    const isLeft = pid === process.pid ? (await stat(folder)).ctimeMs < startedAt : !isRunning(pid);
    if (isLeft) await rm(folder, { recursive: true, force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // EPERM: it runs as another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
