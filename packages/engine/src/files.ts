import { mkdir, open, stat, rename as systemRename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

/** Errors of Windows while a virus scanner, an indexer or another process has one of the files open. */
const inUse: ReadonlySet<unknown> = new Set(['EPERM', 'EACCES', 'EBUSY']);
/** Waits for virus scanners, which usually need some milliseconds: 1.3 s in total. */
const pausesMs = [10, 20, 50, 100, 200, 400, 500] as const;

/** Renames a file or folder, replacing an existing file. On Windows, retries while another process has it open. */
export async function replaceFile(
  from: string,
  to: string,
  { rename = systemRename, platform = process.platform } = {},
): Promise<void> {
  for (const pauseMs of platform === 'win32' ? pausesMs : []) {
    try {
      return await rename(from, to);
    } catch (error) {
      if (!inUse.has((error as NodeJS.ErrnoException).code)) throw error;
    }
    await pause(pauseMs);
  }
  return rename(from, to);
}

/**
 * Creates a folder and the missing ones above it, unless it exists. Node's `recursive` never returns where the folder
 * above exists but cannot contain one: in /proc, on a disk that was unmounted, or behind a link to nothing.
 */
export async function makeFolder(path: string, mode?: number): Promise<void> {
  const make = () =>
    mkdir(path, { mode }).catch(async (error: NodeJS.ErrnoException) => {
      const isFolder = error.code === 'EEXIST' && (await stat(path).catch(() => undefined))?.isDirectory();
      if (!isFolder) throw error;
    });
  try {
    await make();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(path) === path) throw error;
    await makeFolder(dirname(path), mode);
    await make();
  }
}

interface Sync {
  running: Promise<void>;
  /** Callers that arrive while `running` runs share this one, because the running one may have missed their rename. */
  next: Promise<void> | undefined;
}

const syncs = new Map<string, Sync>();

/** Makes a rename or a new entry in a folder survive a power cut. Concurrent callers share one fsync. */
export function syncFolder(folder: string): Promise<void> {
  // Windows cannot open folders, and NTFS journals names.
  if (process.platform === 'win32') return Promise.resolve();
  const current = syncs.get(folder);
  if (!current) return beginSync(folder);
  current.next ??= current.running.catch(() => {}).then(() => beginSync(folder));
  return current.next;
}

function beginSync(folder: string): Promise<void> {
  const sync: Sync = { running: syncNow(folder), next: undefined };
  syncs.set(folder, sync);
  const end = () => {
    if (syncs.get(folder) === sync) syncs.delete(folder);
  };
  sync.running.then(end, end);
  return sync.running;
}

async function syncNow(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
