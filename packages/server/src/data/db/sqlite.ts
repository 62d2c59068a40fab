import { randomBytes } from 'node:crypto';
import { closeSync, openSync, readFileSync, realpathSync, statSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { type Dialect, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler, sql } from 'kysely';
import type { Logger } from 'pino';
import { ConfigError, errorMessage } from '../../base/errors.js';
import { keysInFile, rotated, writeKeys } from '../../base/server-key.js';
import type { DatabaseIdentity, DatabaseKind } from './database.js';
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
/** A file of this size is checked in about a second. */
const maxCheckedBytes = 256 * 1024 ** 2;

/**
 * Implements databases in SQLite files, each used by the processes of one machine. A transaction locks the whole
 * database, so no lock is finer.
 */
export const sqlite: DatabaseKind = {
  name: 'SQLite',
  isShared: false,
  anotherOne: 'data directory with --data-dir',
  dialect: (path, { log }) => sqliteDialect(path, log),
  describe: (path) => path,
  warningAbout: () => undefined,
  lockForServing(dataDir, path) {
    const unlock = lockForServing(dataDir);
    try {
      requireIntact(path);
    } catch (error) {
      unlock();
      throw error;
    }
    return unlock;
  },
  requireOwn: async () => {},
  explain: async (error, _db, path) => explained(path, error),
  serverKeys: async (_db, file) => keysInFile(file),
  rotateServerKey: (_trx, file) => writeKeys(file, rotated(keysInFile(file))),
  identityOf: async (_db, path) => identityOfFile(path),
  define: (statement) => statement,
  ownStatements: [],
  schema: `
    select t.name || '.' || c.name || ' ' || lower(c.type) || iif(c."notnull" or c.pk, ' not null', '') as item
    from sqlite_master t join pragma_table_info(t.name) c where t.type = 'table' and t.name not like 'sqlite%'
    union all select 'index ' || name from sqlite_master where type = 'index' and sql is not null`,
  now: Date.now,
  readTime: async () => Date.now(),
  eraseLog: async (db) => {
    const { rows } = await sql<{ busy: number }>`pragma wal_checkpoint(truncate)`.execute(db);
    return rows[0]?.busy === 0;
  },
  greatest: 'max',
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
function explained(path: string, error: unknown): ConfigError | undefined {
  if (isDamage(error)) return damaged(path, error);
  if (isNotWritable(error)) return notWritable(path, error);
  if (isUnsuitable(error)) {
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

/**
 * Reads the whole file: a damaged page would otherwise be noticed by the first query that needs it. Larger files are not
 * checked, because the server would start too late.
 *
 * @throws {ConfigError} if the file is damaged
 */
function requireIntact(path: string): void {
  const bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (bytes === 0 || bytes > maxCheckedBytes) return;
  let database: SqliteConnection | undefined;
  try {
    database = openSqlite(path, { busyTimeoutMs: openTimeoutMs, readonly: true });
    const [finding] = database.prepare('pragma quick_check(1)').all([])[0] ?? [];
    if (finding !== 'ok') throw damaged(path, new Error(String(finding)));
  } catch (error) {
    throw explained(path, error) ?? error;
  } finally {
    database?.close();
  }
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

/** Identifies a SQLite database by a random file next to it, which `gen3d admin backup` does not copy. */
export const identityOfFile = (database: string): DatabaseIdentity => ({
  id: identityFile(database),
  name: `${database} on ${hostname()}`,
});

function identityFile(database: string): string {
  const path = join(dirname(database), 'installation.id');
  try {
    writeFileSync(path, randomBytes(16).toString('hex'), { flag: 'wx', flush: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return readFileSync(path, 'utf8').trim();
}

/**
 * Lets one server at a time use the data directory of a SQLite database. The database itself admits several processes, but
 * each server would charge its own rates, count requests separately, and size its runners for the whole machine.
 *
 * The lock is SQLite's on an otherwise empty file, because the system releases it no matter how the process ends.
 * @returns a function that releases the lock
 * @throws {ConfigError} if another server uses the data directory, or this process cannot write in it
 */
export function lockForServing(dataDir: string): () => void {
  const path = join(dataDir, 'serving.lock');
  let database: SqliteConnection | undefined;
  try {
    database = openSqlite(path, { busyTimeoutMs: 0 });
    database.exec('begin exclusive');
  } catch (error) {
    database?.close();
    if (isNotWritable(error)) throw notWritable(path, error);
    if (!isBusy(error)) throw error;
    throw new ConfigError(
      `Another server uses the data directory ${dataDir}. Stop that server, or choose another --data-dir. With PostgreSQL, several servers may share one`,
      { cause: error },
    );
  }
  const lock = database;
  return () => lock.close();
}
