import { statSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError } from '../../base/errors.js';
import { damaged, explained } from './sqlite.js';
import { isBusy, isNotWritable, notWritable, openSqlite, type SqliteConnection } from './sqlite-connection.js';

/** A file of this size is checked in about a second. */
const maxCheckedBytes = 256 * 1024 ** 2;
/** How long to wait for a command that has locked the database. */
const openTimeoutMs = 5_000;

/**
 * Lets one server at a time use the data directory of a SQLite database, and checks the database for damage. SQLite
 * admits several processes, but each server would charge its own rates, count requests separately, and size its runners
 * for the whole machine.
 *
 * The lock is SQLite's on an otherwise empty file, because the system releases it no matter how the process ends.
 * @returns a function that releases the lock
 * @throws {ConfigError} if another server uses the data directory, this process cannot write in it, or the database is
 * damaged
 */
export function lockForServing(dataDir: string, database: string): () => void {
  const lock = takeLock(dataDir, join(dataDir, 'serving.lock'));
  try {
    requireIntact(database);
  } catch (error) {
    lock.close();
    throw error;
  }
  return () => lock.close();
}

function takeLock(dataDir: string, path: string): SqliteConnection {
  let lock: SqliteConnection | undefined;
  try {
    lock = openSqlite(path, { busyTimeoutMs: 0 });
    lock.exec('begin exclusive');
    return lock;
  } catch (error) {
    lock?.close();
    if (isNotWritable(error)) throw notWritable(path, error);
    if (!isBusy(error)) throw error;
    throw new ConfigError(
      `Another server uses the data directory ${dataDir}. Stop that server, or choose another --data-dir. With PostgreSQL, several servers may share one`,
      { cause: error },
    );
  }
}

/** Reads the whole file: a damaged page would otherwise be noticed by the first query that needs it. */
function requireIntact(path: string): void {
  const bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  // A larger file is not checked, because the server would start too late.
  if (bytes === 0 || bytes > maxCheckedBytes) return;
  let database: SqliteConnection | undefined;
  try {
    database = openSqlite(path, { busyTimeoutMs: openTimeoutMs, readonly: true });
    const finding = database.pragma('quick_check(1)', { simple: true });
    if (finding !== 'ok') throw damaged(path, new Error(String(finding)));
  } catch (error) {
    throw explained(path, error) ?? error;
  } finally {
    database?.close();
  }
}
