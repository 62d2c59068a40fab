import { closeSync, fdatasync, openSync } from 'node:fs';
import { promisify } from 'node:util';
import { coalesced } from '../../base/coalesced.js';

const sync = promisify(fdatasync);

/**
 * Waits for the disk after commits, in a thread of the pool instead of on the event loop. SQLite itself, with
 * synchronous=NORMAL, only writes a commit to its write-ahead log and syncs that before it moves pages to the database.
 *
 * A commit is acknowledged after the sync, so it is as durable as with synchronous=FULL. Commits that arrive during a
 * sync share the next one. Other queries of this process see a commit a few milliseconds before it is durable; what
 * they write follows it in the log, so a power cut never keeps the one without the other.
 */
export class LogSync {
  /** Resolves when everything that has been committed is on the disk. @throws {LogSyncError} if it may not be */
  readonly synced = coalesced(() => this.#sync());
  readonly #path: string;
  #file: number | undefined;

  /** @param path the write-ahead log, which exists from the first commit on, as long as the database is open */
  constructor(path: string) {
    this.#path = path;
  }

  async #sync(): Promise<void> {
    try {
      this.#file ??= openSync(this.#path, 'r+');
      await sync(this.#file);
    } catch (cause) {
      throw new LogSyncError(`Cannot sync ${this.#path}: ${(cause as Error).message}`, { cause });
    }
  }

  /** Syncs once more, then closes the log. */
  async close(): Promise<void> {
    await this.synced().catch(() => {});
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }
}

/** The commit is in the log, but it may be missing after a power cut. */
export class LogSyncError extends Error {
  override readonly name = 'LogSyncError';
  /** SQLite's own code for it. */
  readonly code = 'SQLITE_IOERR_FSYNC';
}
