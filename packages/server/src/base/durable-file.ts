import { randomBytes } from 'node:crypto';
import { closeSync, linkSync, openSync, renameSync, rmSync } from 'node:fs';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/**
 * Writes a file so that after a crash it is there whole or not at all: temporary name, fsync, rename, fsync of the
 * folder. The temporary name starts with a dot, which the asset server never serves.
 */
export async function writeDurably(path: string, bytes: Uint8Array): Promise<void> {
  const folder = dirname(path);
  await mkdir(folder, { recursive: true });
  const draft = join(folder, `.${basename(path)}.${randomBytes(6).toString('hex')}`);
  try {
    const file = await open(draft, 'wx');
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  await syncFolder(folder);
}

/** From file systems without hard links: FAT, exFAT, many SMB shares. */
const noHardLinks: ReadonlySet<unknown> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']);

/**
 * Gives a finished draft its name, and never replaces a file of that name. Where the file system has hard links, the file is
 * there whole or not at all. Elsewhere the name is reserved first by an empty file, which a crash at that moment leaves.
 * @throws the system's error, EEXIST where the file exists; the draft is left then
 */
export function publishNew(draft: string, path: string, link = linkSync): void {
  try {
    link(draft, path);
  } catch (error) {
    if (!noHardLinks.has((error as NodeJS.ErrnoException).code)) throw error;
    reserveAndRename(draft, path);
    return;
  }
  rmSync(draft);
}

function reserveAndRename(draft: string, path: string): void {
  closeSync(openSync(path, 'wx', 0o600));
  try {
    renameSync(draft, path);
  } catch (error) {
    rmSync(path);
    throw error;
  }
}

interface Sync {
  running: Promise<void>;
  /** For everyone who came while it ran: what they renamed, it may have missed. */
  next: Promise<void> | undefined;
}

const syncs = new Map<string, Sync>();

/** Makes a rename or a new entry in a folder survive a power cut. Callers that come together share one wait. */
export function syncFolder(folder: string): Promise<void> {
  // Windows opens no folders, and NTFS keeps its own journal of names.
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
