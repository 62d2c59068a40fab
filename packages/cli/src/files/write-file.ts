import { constants, open, type Stats } from 'node:fs';
import { chmod, chown, link, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { connect, Socket } from 'node:net';
import { dirname } from 'node:path';
import { finished } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { exitCode, Failed } from '../exit/failure.js';
import { say, shownName } from '../terminal/terminal.js';
import { hasCode, systemReason } from './system-errors.js';
import { draftIn, existsError, findTarget, requireWritable } from './target.js';

// Every file that a command writes for its user goes through `writeOutput`. A new file appears complete or not at all.
// A replaced file keeps its mode, its owner and all its names; links stay; and a device, FIFO or socket gets the content.
// `requireWritable` checks before a job is created what can be checked without the content.

interface WriteFileOptions {
  /** Replaces an existing file. */
  readonly force?: boolean | undefined;
  /** The permissions of the file. Default: those of the file that is replaced, or the usual ones. */
  readonly mode?: number | undefined;
  /** Ends the wait for the reader of a FIFO. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Writes a file, or to stdout or a stream.
 *
 * @throws {UsageError} if the file exists and `force` is not set, or the path is that of a folder
 * @throws {Failed} if the system refuses, with the reason
 */
export async function writeOutput(
  path: string,
  content: Uint8Array,
  { force = false, mode, signal }: WriteFileOptions = {},
): Promise<void> {
  const target = await findTarget(path);
  try {
    switch (target.kind) {
      case 'stdout':
        return await new Promise((resolve) => process.stdout.write(content, () => resolve()));
      case 'stream':
        return await writeToStream(target.path, target.stats, content, signal);
      case 'new':
        return await create(target.path, content, mode);
      default:
        await requireWritable(path, target, force);
        await replace(target.path, content, { ...target.stats, ...(mode !== undefined && { mode }) });
    }
  } catch (cause) {
    signal?.throwIfAborted();
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

async function writeToStream(path: string, stats: Stats, content: Uint8Array, signal?: AbortSignal): Promise<void> {
  if (stats.isSocket()) return send(connect(path), content, signal);
  if (stats.isFIFO()) {
    const fd = await openFifo(path, signal);
    return send(new Socket({ fd, readable: false, writable: true }), content, signal);
  }
  // Appends, because a descriptor may be a file that a shell has opened.
  await writeFile(path, content, { flag: constants.O_WRONLY | constants.O_APPEND });
}

const readerPollMs = 100;

/** Waits until a program reads the FIFO. A blocking open would prevent this process from exiting after Ctrl-C. */
async function openFifo(path: string, signal: AbortSignal | undefined): Promise<number> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await promisify(open)(path, constants.O_WRONLY | constants.O_NONBLOCK);
    } catch (error) {
      if (!hasCode(error, 'ENXIO')) throw error;
    }
    if (attempt === 0) say(`Waiting for a program that reads ${shownName(path)}`);
    await sleep(readerPollMs, undefined, { signal });
  }
}

async function send(socket: Socket, content: Uint8Array, signal?: AbortSignal): Promise<void> {
  try {
    socket.end(content);
    await finished(socket, { readable: false, ...(signal && { signal }) });
  } finally {
    socket.destroy();
  }
}
