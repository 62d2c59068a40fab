import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, openSync, rmSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import Database from 'better-sqlite3';
import { publishNew, syncFolder } from '../../base/durable-file.js';
import { AdminError, isDiskFull } from '../../base/errors.js';
import type { Config } from '../../config.js';
import { damaged, isDamage } from '../db/sqlite.js';
import { isBusy } from '../db/sqlite-driver.js';
import { dataDirOf } from '../installation/data-dir.js';

export interface Backup {
  file: string;
  bytes: number;
}

/**
 * Writes the database as it is at one moment into a new file, while servers go on. The file is for its owner alone, and is
 * there whole or not at all. Neither the server key nor any model or photo is in it.
 *
 * By VACUUM INTO, which reads in one transaction that no writer waits for; SQLite's backup interface begins anew whenever
 * another process writes.
 * @throws {AdminError} if there is no SQLite database, the file exists, or it cannot be written
 */
export async function backup(config: Pick<Config, 'dataDir' | 'database'>, path: string): Promise<Backup> {
  const file = resolve(path);
  if (config.database !== 'sqlite') {
    throw new AdminError(
      'This backs SQLite up. PostgreSQL has pg_dump for it; see docs/operations/backup-and-moving.md',
    );
  }
  const { database: source } = dataDirOf(config);
  if (!existsSync(source))
    throw new AdminError(`There is no database to back up: ${source} is not there. Say where with --data-dir`);
  if (existsSync(file)) throw existing(file);
  const draft = join(dirname(file), `.${basename(file)}.${randomBytes(6).toString('hex')}`);
  try {
    // Made here for its mode: SQLite writes into an empty file.
    closeSync(openSync(draft, 'wx', 0o600));
    copyDatabase(source, draft);
    // SQLite leaves it to the system when the copy reaches the disk.
    const written = await open(draft, 'r+');
    await written.sync().finally(() => written.close());
    publishNew(draft, file);
  } catch (error) {
    throw explained(error, source, file);
  } finally {
    rmSync(draft, { force: true });
  }
  await syncFolder(dirname(file));
  return { file, bytes: statSync(file).size };
}

function copyDatabase(source: string, draft: string): void {
  const database = new Database(source, { readonly: true, fileMustExist: true, timeout: 5_000 });
  try {
    database.prepare('vacuum into ?').run(draft);
  } finally {
    database.close();
  }
}

const existing = (file: string) =>
  new AdminError(`${file} exists already, and a backup replaces nothing: give another name`);

function explained(error: unknown, source: string, file: string): unknown {
  if (!(error instanceof Error)) return error;
  if ((error as NodeJS.ErrnoException).code === 'EEXIST') return existing(file);
  if (isDamage(error)) return damaged(source, error);
  if (isBusy(error)) {
    return new AdminError(
      `${source} is in use by a command that lets nobody else in, such as \`gen3d admin migrate-to\`. Wait for its end`,
    );
  }
  const isOurs = isDiskFull(error) || 'syscall' in error || error instanceof Database.SqliteError;
  return isOurs ? new AdminError(`${file} was not written: ${error.message}`, { cause: error }) : error;
}
