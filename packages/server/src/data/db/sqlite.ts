import { closeSync, openSync, realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Dialect, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from 'kysely';
import type { Logger } from 'pino';
import { ConfigError, errorMessage } from '../../base/errors.js';
import type { DatabaseKind } from './database.js';
import { LogSync } from './log-sync.js';
import {
  isBusy,
  isDamage,
  isNotWritable,
  isUnsuitable,
  notWritable,
  openSqlite,
  type SqliteConnection,
} from './sqlite-connection.js';
import { SqliteWalDriver } from './sqlite-driver.js';
import { Outage } from './unavailable.js';

/** Applies only to opening the database, which blocks the event loop. */
const openTimeoutMs = 5_000;
/** After a large transaction, the write-ahead log is truncated to this size. Normally it stays at about 4 MiB. */
const maxWalBytes = 16 * 1024 ** 2;

/**
 * Implements databases in SQLite files, each used by the processes of one machine. A transaction locks the whole
 * database, so no lock is finer.
 */
export const sqlite: DatabaseKind = {
  name: 'SQLite',
  isShared: false,
  dialect: (path, { log }) => sqliteDialect(path, log),
  define: (statement) => statement,
  ownStatements: [],
  schema: `
    select t.name || '.' || c.name || ' ' || lower(c.type) || iif(c."notnull" or c.pk, ' not null', '') as item
    from sqlite_master t join pragma_table_info(t.name) c where t.type = 'table' and t.name not like 'sqlite%'
    union all select 'index ' || name from sqlite_master where type = 'index' and sql is not null`,
  now: () => Date.now(),
  lockRows: (query) => query,
  advisoryLock: async () => {},
  isRetryable: () => false,
  wakeup: () => ({ notify: async () => {}, listen: () => async () => {} }),
};

/**
 * Creates the dialect of a SQLite file that several processes write.
 *
 * Durable: an acknowledged commit survives kill -9 and a power cut; see log-sync.ts. `log` receives a line when another
 * process locks the database for too long, and when that is over.
 *
 * @throws {ConfigError} if the file is not a database, is damaged, cannot be written, or is locked exclusively by
 * another process
 * @throws {NativePartError} if this machine has no SQLite
 */
function sqliteDialect(path: string, log?: Logger): Dialect {
  let database: SqliteConnection | undefined;
  try {
    makePrivate(path);
    database = openSqlite(path, { busyTimeoutMs: openTimeoutMs });
    database.exec('pragma journal_mode = WAL');
    // A commit does not wait for the disk; `LogSync` does.
    database.exec('pragma synchronous = NORMAL');
    // On macOS, a plain fsync leaves data in the disk's cache. Elsewhere this has no effect.
    database.exec('pragma fullfsync = ON');
    database.exec(`pragma journal_size_limit = ${maxWalBytes}`);
    database.exec('pragma foreign_keys = ON');
    // Overwrites what is deleted or moved. Otherwise it stays readable in free parts of the file.
    database.exec('pragma secure_delete = ON');
    // 16 MiB. For a million jobs, the default of 2 MB holds little more than the upper levels of the indexes.
    database.exec('pragma cache_size = -16384');
    // From now on the driver waits for locks, which does not block the event loop.
    database.exec('pragma busy_timeout = 0');
  } catch (error) {
    database?.close();
    throw explained(path, error) ?? error;
  }
  const connection = database;
  // SQLite puts it next to the file itself, not next to a link.
  const logPath = `${realpathSync(path)}-wal`;
  const outage = log && new Outage(log);
  let isReported = false;
  const reportDamage = (error: unknown) => {
    if (!isReported) log?.error({ reason: damaged(path, error).message }, 'the database is damaged');
    isReported = true;
  };
  return {
    createDriver: () => new SqliteWalDriver(connection, new LogSync(logPath), outage, reportDamage),
    createAdapter: () => new TransactionalDdlAdapter(),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createIntrospector: (db) => new SqliteIntrospector(db),
  };
}

/** Creates the file with mode 0600; SQLite would make it world-readable. The -wal and -shm files inherit the mode. */
function makePrivate(path: string): void {
  try {
    // `wx` does not open an existing file: closing that would release the locks that SQLite holds on it.
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Returns an error for the operator, if the cause of this one is known. */
export function explained(path: string, error: unknown): ConfigError | undefined {
  if (isDamage(error)) return damaged(path, error);
  if (isNotWritable(error)) return notWritable(path, error);
  if (isUnsuitable(error)) {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) {
      return new ConfigError(`${path} is a folder. Move it, or choose another data directory with --data-dir`);
    }
    return new ConfigError(
      `SQLite cannot work in ${dirname(path)} (${errorMessage(error)}), which may be a network or FUSE file system. Put --data-dir on a local disk (--assets may stay there), or use --database postgres://...`,
      { cause: error },
    );
  }
  if (!isBusy(error)) return undefined;
  return new ConfigError(
    `${path} is locked by a command such as \`gen3d admin migrate-to\`. Wait until it has finished`,
    { cause: error },
  );
}

export const damaged = (path: string, cause: unknown): ConfigError =>
  new ConfigError(
    `${path} is damaged, or is not a gen3d database. Restore a backup, or choose another data directory with --data-dir`,
    { cause },
  );

/** Declares that SQLite's DDL is transactional, which kysely's adapter denies. So concurrent migrations take turns. */
class TransactionalDdlAdapter extends SqliteAdapter {
  readonly kind = sqlite;

  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}
