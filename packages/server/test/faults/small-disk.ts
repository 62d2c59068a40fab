import { type ChildProcess, spawn } from 'node:child_process';
import { appendFile, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll } from 'vitest';
import { type AtEnd, temporaryFolder } from '../kit.js';

/** A file system of its own that is small enough to fill. */
export interface SmallDisk {
  /** Where it is, for a process that is started by way of `enter`. */
  path: string;
  /** Put before a command, this starts it where the disk is mounted. */
  enter: readonly string[];
  /** Where it is for this process. Not for SQLite, which resolves links by their text. */
  seen: string;
  /** Leaves so many bytes free, or the last block. */
  fill(freeBytes?: number): Promise<void>;
  /** Takes away what `fill` wrote. */
  makeRoom(): Promise<void>;
}

const mebibyte = 1024 ** 2;
const tmpfsMagic = 0x01021994;
/** As root, and as anybody where the system lets users have namespaces of their own. */
const unshares = [
  { unshare: ['--mount'], nsenter: ['--mount'] },
  { unshare: ['--map-root-user', '--mount'], nsenter: ['--user', '--preserve-credentials', '--mount'] },
];

/**
 * A tmpfs in a mount namespace that lives as long as the test; nobody else on the machine sees it. Where a container may
 * not mount, its own /dev/shm will do, if that is small. Undefined where there is neither.
 */
export async function smallDisk(sizeBytes: number, atEnd: AtEnd = afterAll): Promise<SmallDisk | undefined> {
  if (process.platform !== 'linux') return undefined;
  const folder = temporaryFolder(atEnd);
  for (const { unshare, nsenter } of unshares) {
    const mount = `mount -t tmpfs -o size=${sizeBytes} tmpfs "$0" && echo mounted && exec sleep infinity`;
    const holder = spawn('unshare', [...unshare, 'sh', '-c', mount, folder], { stdio: ['ignore', 'pipe', 'ignore'] });
    if (!(await says(holder, 'mounted'))) continue;
    atEnd(() => void holder.kill('SIGKILL'));
    // Without --wd the command would start at the root of the namespace.
    const enter = ['nsenter', '--target', String(holder.pid), ...nsenter, '--wd=.'];
    return { path: folder, enter, ...filling(`/proc/${holder.pid}/root${folder}`) };
  }
  const { type, blocks, bsize } = await statfs('/dev/shm');
  if (type !== tmpfsMagic || blocks * bsize > 128 * mebibyte) return undefined;
  const shared = temporaryFolder(atEnd, '/dev/shm');
  return { path: shared, enter: [], ...filling(shared) };
}

function says(child: ChildProcess, word: string): Promise<boolean> {
  return new Promise((resolve) => {
    createInterface({ input: child.stdout! }).on('line', (line) => line === word && resolve(true));
    child.once('error', () => resolve(false));
    child.once('exit', () => resolve(false));
  });
}

function filling(seen: string): Pick<SmallDisk, 'seen' | 'fill' | 'makeRoom'> {
  const filler = join(seen, 'filler');
  return {
    seen,
    async fill(freeBytes = 0) {
      for (;;) {
        const { bavail, bsize } = await statfs(seen);
        const bytes = Math.min(Math.ceil((bavail * bsize - freeBytes) / bsize) * bsize, 16 * mebibyte);
        if (bytes <= 0) return;
        await appendFile(filler, Buffer.alloc(bytes));
      }
    },
    makeRoom: () => rm(filler, { force: true }),
  };
}
