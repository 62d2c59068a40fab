import { constants, type Stats } from 'node:fs';
import { chmod, chown, link, open, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { replaceFile } from '@gen3d/engine/files';
import { exitCode, Failed } from '../exit/failure.js';
import { shownName } from '../terminal/terminal.js';
import { hasCode, systemReason } from './system-errors.js';
import { draftIn, existsError, findTarget, isStdout, requireWritable } from './target.js';

// Every file that a command writes for its user goes through `writeOutput`. A file appears complete or not at all, and
// one that is replaced stays as it was until then. Links stay. What is not a regular file is opened and written.
// `requireWritable` checks before a job is created what can be checked without the content.

/**
 * Writes a file, or to stdout for `-`.
 *
 * @throws {UsageError} if the file exists and `force` is not set, or the path is that of a folder
 * @throws {Failed} if the system refuses, with the reason
 */
export async function writeOutput(path: string, content: Uint8Array, force = false): Promise<void> {
  if (isStdout(path)) return new Promise((resolve) => process.stdout.write(content, () => resolve()));
  const target = await findTarget(path);
  try {
    if (target.kind === 'new') return await create(target.path, content);
    await requireWritable(path, target, force);
    if (target.kind === 'file') await replace(target.path, target.stats, content);
    else await writeInto(path, content);
  } catch (cause) {
    if (hasCode(cause, 'EEXIST')) throw existsError(path);
    if (!(cause instanceof Error && 'syscall' in cause)) throw cause;
    throw new Failed(exitCode.failed, `Cannot write ${shownName(path)}, because ${systemReason(cause)}`, { cause });
  }
}

/** Fails with EEXIST if the file was created in the meantime, unlike a rename. */
async function create(path: string, content: Uint8Array): Promise<void> {
  await withDraft(path, content, (draft) =>
    link(draft, path).catch(async (error: unknown) => {
      if (hasCode(error, 'EEXIST')) throw error;
      // FAT and some network file systems do not support links. Reserves the name instead.
      await writeFile(path, '', { flag: 'wx' });
      await rename(draft, path);
    }),
  );
}

/** Writes into the file where it cannot be replaced: in a folder of others, or if it is a mount. */
async function replace(path: string, { uid, gid, mode }: Stats, content: Uint8Array): Promise<void> {
  try {
    await withDraft(path, content, async (draft) => {
      await chown(draft, uid, gid);
      await chmod(draft, mode & 0o7777);
      await replaceFile(draft, path);
    });
  } catch (error) {
    if (!hasCode(error, 'EACCES', 'EPERM', 'EROFS', 'EBUSY')) throw error;
    await writeInto(path, content);
  }
}

async function withDraft(path: string, content: Uint8Array, use: (draft: string) => Promise<void>): Promise<void> {
  const draft = draftIn(dirname(path));
  try {
    await writeFile(draft, content, { flag: 'wx' });
    await use(draft);
  } finally {
    await rm(draft, { force: true });
  }
}

async function writeInto(path: string, content: Uint8Array): Promise<void> {
  // Fails unless a program reads the pipe. A blocking open would prevent this process from exiting after Ctrl-C.
  const existing = await open(path, constants.O_WRONLY | constants.O_NONBLOCK);
  try {
    await writeFile(path, content);
  } finally {
    await existing.close();
  }
}
