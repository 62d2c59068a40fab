import { type ChildProcess, spawn } from 'node:child_process';
import { appendFile, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll } from 'vitest';
import { type AtEnd, temporaryFolder } from '../kit.js';

/** A separate file system that is small enough to fill. */
export interface SmallDisk {
  /** The path for processes that are started with `enter`. */
  path: string;
  /** Prefix of a command, which starts it in the namespace where the disk is mounted. */
  enter: readonly string[];
  /** The path for this process. SQLite cannot use it, because it resolves symbolic links itself. */
  pathHere: string;
  /** Writes a file until only `freeBytes` are free, or none. */
  fill(freeBytes?: number): Promise<void>;
  /** Removes the file that `fill` wrote. */
  freeSpace(): Promise<void>;
}

const mebibyte = 1024 ** 2;
const tmpfsMagic = 0x01021994;
/** As root, or as any user if the system allows user namespaces. */
const unshares = [
  { unshare: ['--mount'], nsenter: ['--mount'] },
  { unshare: ['--map-root-user', '--mount'], nsenter: ['--user', '--preserve-credentials', '--mount'] },
];

/**
 * A tmpfs in a mount namespace that only the test can see. In a container that may not mount, /dev/shm is used if it is
 * small. Undefined if neither is available.
 */
export async function smallDisk(sizeBytes: number, atEnd: AtEnd = afterAll): Promise<SmallDisk | undefined> {
  if (process.platform !== 'linux') return undefined;
  const folder = temporaryFolder(atEnd);
  for (const { unshare, nsenter } of unshares) {
    const mount = `mount -t tmpfs -o size=${sizeBytes} tmpfs "$0" && echo mounted && exec sleep infinity`;
    const holder = spawn('unshare', [...unshare, 'sh', '-c', mount, folder], { stdio: ['ignore', 'pipe', 'ignore'] });
    if (!(await printsLine(holder, 'mounted'))) continue;
    atEnd(() => void holder.kill('SIGKILL'));
    // Without --wd, the command starts at the root of the namespace.
    const enter = ['nsenter', '--target', String(holder.pid), ...nsenter, '--wd=.'];
    return { path: folder, enter, ...filling(`/proc/${holder.pid}/root${folder}`) };
  }
  const { type, blocks, bsize } = await statfs('/dev/shm');
  if (type !== tmpfsMagic || blocks * bsize > 128 * mebibyte) return undefined;
  const shared = temporaryFolder(atEnd, '/dev/shm');
  return { path: shared, enter: [], ...filling(shared) };
}

function printsLine(child: ChildProcess, word: string): Promise<boolean> {
  return new Promise((resolve) => {
    createInterface({ input: child.stdout! }).on('line', (line) => line === word && resolve(true));
    child.once('error', () => resolve(false));
    child.once('exit', () => resolve(false));
  });
}

function filling(pathHere: string): Pick<SmallDisk, 'pathHere' | 'fill' | 'freeSpace'> {
  const filler = join(pathHere, 'filler');
  return {
    pathHere,
    async fill(freeBytes = 0) {
      for (;;) {
        const { bavail, bsize } = await statfs(pathHere);
        const bytes = Math.min(Math.ceil((bavail * bsize - freeBytes) / bsize) * bsize, 16 * mebibyte);
        if (bytes <= 0) return;
        await appendFile(filler, Buffer.alloc(bytes)).catch((error: NodeJS.ErrnoException) => {
          // The server has written in the meantime.
          if (error.code !== 'ENOSPC') throw error;
        });
      }
    },
    freeSpace: () => rm(filler, { force: true }),
  };
}
