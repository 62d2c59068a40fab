import { randomBytes } from 'node:crypto';
import type { Stats } from 'node:fs';
import { access, constants, readlink, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { UsageError } from '../exit/failure.js';
import { shownName } from '../terminal/terminal.js';
import { hasCode, systemReason } from './system-errors.js';

/** As an output path, this stands for stdout. */
export const stdoutPath = '-';

/**
 * Where an output path leads. Links are followed: content goes where a link points, and the link stays. A stream is a
 * device, a FIFO, a socket or a descriptor such as `/dev/fd/3`, which gets the content and is never replaced.
 */
export type Target = { readonly path: string } & (
  | { readonly kind: 'new' | 'stdout' }
  | { readonly kind: 'file' | 'folder' | 'stream'; readonly stats: Stats }
);

/** @throws {UsageError} if nothing can be written there, such as when the name is too long */
export async function findTarget(path: string): Promise<Target> {
  if (path === stdoutPath) return { kind: 'stdout', path };
  try {
    const real = await followLinks(path);
    const stats = await stat(real).catch((error: unknown) => {
      if (hasCode(error, 'ENOENT')) return undefined;
      throw error;
    });
    if (!stats) return { kind: 'new', path: real };
    if (stats.isDirectory()) return { kind: 'folder', path: real, stats };
    if (await isStdout(stats)) return { kind: 'stdout', path: stdoutPath };
    return { kind: stats.isFile() && !isDescriptor(resolve(real)) ? 'file' : 'stream', path: real, stats };
  } catch (cause) {
    if (cause instanceof UsageError) throw cause;
    throw cannotWrite(path, systemReason(cause), cause);
  }
}

/** More hops than any file system follows. */
const maxHops = 40;

/**
 * Follows links to the path of a file, which need not exist. Stops at a descriptor, because its link may name something
 * that has no path.
 */
export async function followLinks(path: string): Promise<string> {
  let current = path;
  for (let hop = 0; hop <= maxHops; hop += 1) {
    if (isDescriptor(resolve(current))) return current;
    let link: string;
    try {
      link = await readlink(current);
    } catch {
      // Not a link, or missing. `stat` reports all other errors.
      return current;
    }
    current = resolve(await realpath(dirname(current)), link);
  }
  throw cannotWrite(path, 'its links lead back to it');
}

const isDescriptor = (path: string) => /^\/(dev|proc\/(self|thread-self|\d+))\/fd\/\d+$/.test(path);

/** Whether a file is this process's stdout, which must not also get the path of the written file. */
async function isStdout(stats: Stats): Promise<boolean> {
  // Not `fstat`: after one of a pipe, Node 20 fails to import packages that are links. Windows has no such path.
  const stdout = await stat('/dev/fd/1').catch(() => undefined);
  // Many programs share a device such as /dev/null.
  const isShared = stats.isCharacterDevice() && !process.stdout.isTTY;
  return stdout?.ino === stats.ino && stdout.dev === stats.dev && !isShared;
}

/** @throws {UsageError} if the target is a folder, a file that must not be overwritten, or not writable */
export async function requireWritable(path: string, target: Target, force: boolean): Promise<void> {
  switch (target.kind) {
    case 'stdout':
      return;
    case 'folder':
      throw new UsageError(`${shownName(path)} is a folder. Choose another path`);
    case 'new':
      return requireWritableFolder(dirname(target.path));
    case 'stream':
      if (target.stats.isBlockDevice()) throw cannotWrite(path, 'it is a disk');
      return requireAccess(path, target.path);
    case 'file':
      if (!force) throw existsError(path);
      // Root may write to a file that its owner has made read-only.
      if ((target.stats.mode & 0o222) === 0) throw cannotWrite(path, 'it is read-only');
      return requireAccess(path, target.path);
  }
}

async function requireAccess(path: string, real: string): Promise<void> {
  await access(real, constants.W_OK).catch((cause: unknown) => {
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
