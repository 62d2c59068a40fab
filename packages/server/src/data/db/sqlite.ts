import { closeSync, openSync } from 'node:fs';
import Database from 'better-sqlite3';
import { type Driver, SqliteAdapter, SqliteDialect } from 'kysely';
import type { Logger } from 'pino';
import { ConfigError } from '../../base/errors.js';
import { Outage } from './outage.js';
import { isBusy, SqliteWalDriver } from './sqlite-driver.js';

/** For opening the database, which blocks the event loop. */
const openTimeoutMs = 5_000;
/** The write-ahead log is cut to this length after one large transaction. In steady use it stays at about 4 MiB. */
const maxKeptLogBytes = 16 * 1024 ** 2;

/**
 * The SQLite dialect over better-sqlite3, for a database that several processes write.
 *
 * Durable: WAL with synchronous=FULL, so a commit that was answered survives kill -9 and a power cut.
 * `log` receives when another process locks the database for too long, and when that is over.
 *
 * @throws {ConfigError} if the file is not a database, is damaged, or is locked by a process that admits no other
 */
export function sqliteDialect(path: string, log?: Logger): SqliteDialect {
  makePrivate(path);
  const database = new Database(path, { timeout: openTimeoutMs });
  try {
    database.pragma('journal_mode = WAL');
    database.pragma('synchronous = FULL');
    // On macOS a plain fsync leaves data in the disk's cache. Elsewhere this does nothing.
    database.pragma('fullfsync = ON');
    database.pragma(`journal_size_limit = ${maxKeptLogBytes}`);
    database.pragma('foreign_keys = ON');
    // In KiB. Of a million jobs, the default 2 MB hold little more than the tops of the indexes.
    database.pragma('cache_size = -16384');
    // From here on the driver waits for locks, without blocking the event loop.
    database.pragma('busy_timeout = 0');
  } catch (error) {
    database.close();
    if (isDamage(error)) throw damaged(path, error);
    if (isBusy(error)) {
      throw new ConfigError(
        `${path} is in use by a command that lets nobody else in, such as \`gen3d admin migrate-to\`: wait for its end`,
        { cause: error },
      );
    }
    throw error;
  }
  return new WalDialect(database, log && new Outage(log));
}

/** SQLite would make it readable for everybody. Its -wal and -shm files get the mode of the database. */
function makePrivate(path: string): void {
  try {
    // `wx` opens no file that is there: closing one would drop the locks that this process holds on it by SQLite.
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

export const isDamage = (error: unknown): boolean =>
  error instanceof Database.SqliteError && /^SQLITE_(NOTADB|CORRUPT)/.test(error.code);

export const damaged = (path: string, cause: unknown): ConfigError =>
  new ConfigError(
    `${path} is damaged, or is no database of gen3d: put a backup in its place, or choose another data directory with --data-dir`,
    { cause },
  );

class WalDialect extends SqliteDialect {
  readonly #database: Database.Database;
  readonly #outage: Outage | undefined;

  constructor(database: Database.Database, outage: Outage | undefined) {
    super({ database });
    this.#database = database;
    this.#outage = outage;
  }

  override createDriver(): Driver {
    return new SqliteWalDriver(this.#database, this.#outage);
  }

  override createAdapter(): SqliteAdapter {
    return new TransactionalDdlAdapter();
  }
}

/** SQLite's DDL is transactional; kysely only says otherwise. With it, two processes that migrate at once take turns. */
class TransactionalDdlAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}
