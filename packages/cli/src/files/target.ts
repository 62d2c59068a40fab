import { randomBytes } from 'node:crypto';
import type { Stats } from 'node:fs';
import { access, constants, lstat, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { UsageError } from '../exit/failure.js';
import { shownName } from '../terminal/terminal.js';
import { hasCode, systemReason } from './system-errors.js';

/** As an output path, this stands for stdout. */
export const stdoutPath = '-';

/** Whether an output path is stdout, which must then not also get the path of the written file. */
export const isStdout = (path: string): boolean => path === stdoutPath || path === '/dev/stdout';

/**
 * Where an output path leads. A file's path is free of links: its content is replaced where a link points, and the link
 * stays. What exists and is neither a file nor a folder, such as a device or a pipe, is opened and written.
 */
export type Target =
  | { readonly path: string; readonly kind: 'new' }
  | { readonly path: string; readonly kind: 'file' | 'folder' | 'other'; readonly stats: Stats };

/** @throws {UsageError} if nothing can be written there, such as when the name is too long */
export async function findTarget(path: string): Promise<Target> {
  try {
    const stats = await stat(path);
    if (stats.isDirectory()) return { kind: 'folder', path, stats };
    return stats.isFile() ? { kind: 'file', path: await realpath(path), stats } : { kind: 'other', path, stats };
  } catch (cause) {
    if (!hasCode(cause, 'ENOENT')) throw cannotWrite(path, systemReason(cause), cause);
  }
  if (await lstat(path).catch(() => undefined)) throw cannotWrite(path, 'it is a link to a file that does not exist');
  return { kind: 'new', path };
}

/** @throws {UsageError} if the target is a folder, a file that must not be overwritten, or not writable */
export async function requireWritable(path: string, target: Target, force: boolean): Promise<void> {
  if (target.kind === 'new') return requireWritableFolder(dirname(target.path));
  const { kind, stats } = target;
  if (kind === 'folder') throw new UsageError(`${shownName(path)} is a folder. Choose another path`);
  if (kind === 'file' && !force) throw existsError(path);
  // Root may write to a file that its owner has made read-only.
  if (kind === 'file' && (stats.mode & 0o222) === 0) throw cannotWrite(path, 'it is read-only');
  if (stats.isBlockDevice()) throw cannotWrite(path, 'it is a disk');
  await access(target.path, constants.W_OK).catch((cause: unknown) => {
    throw cannotWrite(path, systemReason(cause), cause);
  });
}

/** Returns a new path in a folder for an unfinished file. It is short, so that every file with a legal name has one. */
export const draftIn = (folder: string): string => join(folder, `.${randomBytes(8).toString('hex')}.part`);

/** Writes a test file. Permission bits are not sufficient: they do not apply to root, or cover read-only disks. */
async function requireWritableFolder(folder: string): Promise<void> {
  const draft = draftIn(folder);
  try {
    await writeFile(draft, '', { flag: 'wx' });
  } catch (cause) {
    const existing = await stat(folder).catch(() => undefined);
    if (!existing) {
      throw new UsageError(`The folder ${shownName(folder)} does not exist. Create it first, or choose another path`, {
        cause,
      });
    }
    throw cannotWrite(folder, existing.isDirectory() ? systemReason(cause) : 'it is a file', cause, 'to ');
  } finally {
    await rm(draft, { force: true }).catch(() => {});
  }
}

/** Returns an id that two names of a file share, such as a link and its target. Undefined without such a file. */
export async function fileId(path: string): Promise<string | undefined> {
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  return found && `${found.dev} ${found.ino}`;
}

export const existsError = (path: string) =>
  new UsageError(`${shownName(path)} already exists. Overwrite it with --force, or choose another path`);

const cannotWrite = (path: string, reason: string, cause?: unknown, to = '') =>
  new UsageError(`Cannot write ${to}${shownName(path)}, because ${reason}. Choose another path`, { cause });
