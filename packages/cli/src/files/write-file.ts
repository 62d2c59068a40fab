import { constants, type Stats } from 'node:fs';
import { chmod, chown, link, open, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { exitCode, Failed } from '../exit/failure.js';
import { shownName } from '../terminal/terminal.js';
import { hasCode, systemReason } from './system-errors.js';
import { draftIn, existsError, findTarget, isStdout, requireWritable } from './target.js';

// Every file that a command writes for its user goes through `writeOutput`. A new file appears complete or not at all.
// A replaced file keeps its mode, its owner and all its names, and links stay. What exists and is not a regular file is
// opened and written. `requireWritable` checks before a job is created what can be checked without the content.

interface WriteFileOptions {
  /** Replaces an existing file. */
  readonly force?: boolean | undefined;
  /** The permissions of the file. Default: those of the file that is replaced, or the usual ones. */
  readonly mode?: number | undefined;
}

/**
 * Writes a file, or to stdout for `-`.
 *
 * @throws {UsageError} if the file exists and `force` is not set, or the path is that of a folder
 * @throws {Failed} if the system refuses, with the reason
 */
export async function writeOutput(
  path: string,
  content: Uint8Array,
  { force = false, mode }: WriteFileOptions = {},
): Promise<void> {
  if (isStdout(path)) return new Promise((resolve) => process.stdout.write(content, () => resolve()));
  const target = await findTarget(path);
  try {
    if (target.kind === 'new') return await create(target.path, content, mode);
    await requireWritable(path, target, force);
    if (target.kind === 'other') await writeInto(path, content);
    else await replace(target.path, content, { ...target.stats, ...(mode !== undefined && { mode }) });
  } catch (cause) {
    if (hasCode(cause, 'EEXIST')) throw existsError(path);
    if (!(cause instanceof Error && 'syscall' in cause)) throw cause;
    throw new Failed(exitCode.failed, `Cannot write ${shownName(path)}, because ${systemReason(cause)}`, { cause });
  }
}

/** Fails with EEXIST if the file was created in the meantime, unlike a rename. */
async function create(path: string, content: Uint8Array, mode?: number): Promise<void> {
  await withDraft(path, content, mode, async (draft) => {
    try {
      await link(draft, path);
    } catch (error) {
      if (hasCode(error, 'EEXIST')) throw error;
      // FAT and some network file systems do not support links. Reserves the name instead.
      await writeFile(path, '', { flag: 'wx' });
      await rename(draft, path);
    }
  });
}

async function writeInto(path: string, content: Uint8Array): Promise<void> {
  // Fails unless a program reads the pipe. A blocking open would prevent this process from exiting after Ctrl-C.
  const pipe = await open(path, constants.O_WRONLY | constants.O_NONBLOCK);
  try {
    await writeFile(path, content);
  } finally {
    await pipe.close();
  }
}

type FileFacts = Pick<Stats, 'mode' | 'uid' | 'gid' | 'nlink'>;

/** Replaces a file in one step. If that would lose a name or the owner of the file, writes into the file instead. */
async function replace(path: string, content: Uint8Array, facts: FileFacts): Promise<void> {
  try {
    // Also where the file is not replaced: a full disk fails here, before the old content is lost.
    const isReplaced = await withDraft(path, content, 0o600, async (draft) => {
      if (facts.nlink > 1) return false;
      await chown(draft, facts.uid, facts.gid);
      await chmod(draft, facts.mode & 0o7777);
      await rename(draft, path);
      return true;
    });
    if (isReplaced) return;
  } catch (error) {
    // The folder may be read-only, the owner another user, or the file a mount. Windows keeps open files.
    if (!hasCode(error, 'EACCES', 'EPERM', 'EROFS', 'EBUSY')) throw error;
  }
  await writeFile(path, content, { flag: 'r+' });
  await truncate(path, content.length);
}

async function withDraft<T>(
  path: string,
  content: Uint8Array,
  mode: number | undefined,
  use: (draft: string) => Promise<T>,
): Promise<T> {
  const draft = draftIn(dirname(path));
  try {
    await writeFile(draft, content, { flag: 'wx', mode });
    return await use(draft);
  } finally {
    await rm(draft, { force: true });
  }
}
