import { join } from 'node:path';
import { ConfigError } from '../../base/errors.js';
import { isBusy, isNotWritable, notWritable, openSqlite, type SqliteConnection } from './sqlite-connection.js';

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
