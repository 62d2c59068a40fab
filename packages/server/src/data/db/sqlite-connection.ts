import { createRequire } from 'node:module';
import { loadProblem, NativePartError } from '@gen3d/engine/bundles';
import type BetterSqlite from 'better-sqlite3';
import { ConfigError } from '../../base/errors.js';

/** A connection to a SQLite file. */
export type SqliteConnection = BetterSqlite.Database;

export interface SqliteOptions {
  /** How long a statement blocks the thread while another process holds a lock. */
  busyTimeoutMs: number;
  /** Opens the file for reading only. Fails if it does not exist. */
  readonly?: boolean;
}

interface Library {
  readonly Database: typeof BetterSqlite;
  /** The version of the package. */
  readonly release: string;
  /** The version of SQLite itself. */
  readonly version: string;
}

let library: Library | undefined;

/** @throws {NativePartError} if the addon cannot be loaded; the message says why, and what to do */
export function sqliteLibrary(): Library {
  library ??= load();
  return library;
}

function load(): Library {
  const require = createRequire(import.meta.url);
  try {
    const Database = require('better-sqlite3') as typeof BetterSqlite;
    // The addon is loaded by the first database, not by `require`.
    const probe = new Database(':memory:');
    const version = probe.prepare<[], string>('select sqlite_version()').pluck().get() ?? '';
    probe.close();
    const { version: release } = require('better-sqlite3/package.json') as { version: string };
    return { Database, release, version };
  } catch (cause) {
    throw new NativePartError(`SQLite cannot be loaded: ${loadProblem('better-sqlite3', cause)}`, { cause });
  }
}

/** @throws {NativePartError} if the addon cannot be loaded; an error with a code such as `SQLITE_CANTOPEN` otherwise */
export function openSqlite(path: string, { busyTimeoutMs, readonly = false }: SqliteOptions): SqliteConnection {
  const { Database } = sqliteLibrary();
  return new Database(path, { timeout: busyTimeoutMs, readonly });
}

/** Recognizes an error of SQLite. Its code starts with the name of SQLite's result code, such as `SQLITE_BUSY`. */
export const isSqliteError = (error: unknown): error is Error & { code: string } =>
  error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_');

/** Whether SQLite, or the file system, does not let this process write a file. */
export const isNotWritable = (error: unknown): boolean =>
  (isSqliteError(error) && /^SQLITE_(READONLY|CANTOPEN)/.test(error.code)) ||
  (error instanceof Error && 'code' in error && ['EACCES', 'EPERM', 'EROFS'].includes(String(error.code)));

/** The file system fails, or lacks the locks or the shared memory that SQLite needs. */
export const isUnsuitable = (error: unknown): boolean =>
  isSqliteError(error) && /^SQLITE_(IOERR|PROTOCOL)/.test(error.code);

export const notWritable = (path: string, cause: unknown): ConfigError =>
  new ConfigError(
    `${path} cannot be opened for writing. Check that this user owns the file and its folder, and that the disk is not mounted read-only, or choose another data directory with --data-dir`,
    { cause },
  );

export const isBusy = (error: unknown): boolean => isSqliteError(error) && error.code.startsWith('SQLITE_BUSY');

/** The file is not a SQLite database, or a part of it that was read is damaged. */
export const isDamage = (error: unknown): boolean =>
  isSqliteError(error) && /^SQLITE_(NOTADB|CORRUPT)/.test(error.code);
