import { join } from 'node:path';
import { ConfigError } from '../../base/errors.js';
import { isBusy, openSqlite } from './sqlite-connection.js';

/**
 * Lets one server at a time use the data directory of a SQLite database. The database itself admits several processes, but
 * each server would charge its own rates, count requests separately, and size its runners for the whole machine.
 *
 * The lock is SQLite's on an otherwise empty file, because the system releases it no matter how the process ends.
 * @returns a function that releases the lock
 * @throws {ConfigError} if another server uses the data directory
 */
export function lockForServing(dataDir: string): () => void {
  const database = openSqlite(join(dataDir, 'serving.lock'), { busyTimeoutMs: 0 });
  try {
    database.exec('begin exclusive');
  } catch (error) {
    database.close();
    if (!isBusy(error)) throw error;
    throw new ConfigError(
      `Another server uses the data directory ${dataDir}. Stop that server, or choose another --data-dir. With PostgreSQL, several servers may share one`,
      { cause: error },
    );
  }
  return () => database.close();
}
