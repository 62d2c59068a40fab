import { randomBytes } from 'node:crypto';
import { link, open, readFile, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { makeFolder, replaceFile, syncFolder } from '@gen3d/engine/files';
import { ifMissing } from './errors.js';

/**
 * Writes a file atomically and durably: after a crash it exists either whole or not at all. Draft, fsync, rename, fsync
 * of the folder. The draft's name starts with a dot, which the asset server never serves.
 *
 * `write-file-atomic` does not fsync the folder, and its drafts would be served.
 */
export async function writeDurably(path: string, bytes: Uint8Array, mode?: number): Promise<void> {
  const folder = dirname(path);
  const draft = join(folder, `.${basename(path)}.${randomBytes(6).toString('hex')}`);
  const openDraft = () => open(draft, 'wx', mode);
  try {
    let file = await openDraft().catch(ifMissing(undefined));
    if (!file) {
      await makeFolder(folder);
      file = await openDraft();
    }
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await replaceFile(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  await syncFolder(folder);
}

/** Error codes of file systems without hard links: FAT, exFAT, many SMB shares. Windows reports EISDIR for FAT. */
const noHardLinks: ReadonlySet<unknown> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EISDIR']);

/** Copies a file durably to a new path. With hard links, it gets a second name, and its bytes are not written again. */
export async function copyDurably(path: string, newPath: string, makeLink = link): Promise<void> {
  try {
    await makeLink(path, newPath);
  } catch (error) {
    if (!noHardLinks.has((error as NodeJS.ErrnoException).code)) throw error;
    return writeDurably(newPath, await readFile(path));
  }
  await syncFolder(dirname(newPath));
}
