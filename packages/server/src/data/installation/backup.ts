import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, openSync, rmSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { replaceFile, syncFolder } from '@gen3d/engine/files';
import { AdminError, isDiskFull } from '../../base/errors.js';
import type { Config } from '../../config.js';
import { damaged } from '../db/sqlite.js';
import { isBusy, isDamage, isSqliteError, openSqlite } from '../db/sqlite-connection.js';
import { dataDirOf } from './data-dir.js';

export interface Backup {
  file: string;
  bytes: number;
}

/**
 * Writes a snapshot of the database to a new file, while servers keep running. The file has mode 0600 and is written
 * atomically. It contains neither the server key nor models or images.
 *
 * VACUUM INTO reads in one transaction that does not block writers. SQLite's backup interface would restart whenever
 * another process writes.
 * @throws {AdminError} if the SQLite database does not exist, the file does, or it cannot be written
 */
export async function backup(config: Pick<Config, 'dataDir' | 'database'>, path: string): Promise<Backup> {
  const file = resolve(path);
  if (config.database !== 'sqlite') {
    throw new AdminError(
      'This command backs up SQLite only. For PostgreSQL use pg_dump; see docs/operations/backup-and-moving.md',
    );
  }
  const { database: source } = dataDirOf(config);
  if (!existsSync(source)) throw new AdminError(`No database found: ${source} does not exist. Set --data-dir`);
  if (existsSync(file)) throw existing(file);
  const draft = join(dirname(file), `.${basename(file)}.${randomBytes(6).toString('hex')}`);
  try {
    // Created here for its mode; SQLite accepts an empty file.
    closeSync(openSync(draft, 'wx', 0o600));
    copyDatabase(source, draft);
    // SQLite does not sync the copy.
    const written = await open(draft, 'r+');
    await written.sync().finally(() => written.close());
    // Another backup may have created it in the meantime.
    if (existsSync(file)) throw existing(file);
    await replaceFile(draft, file);
  } catch (error) {
    throw toAdminError(error, source, file);
  } finally {
    rmSync(draft, { force: true });
  }
  await syncFolder(dirname(file));
  return { file, bytes: statSync(file).size };
}

function copyDatabase(source: string, draft: string): void {
  const database = openSqlite(source, { readonly: true, busyTimeoutMs: 5_000 });
  try {
    database.prepare('vacuum into ?').run([draft]);
  } finally {
    database.close();
  }
}

const existing = (file: string) =>
  new AdminError(`${file} already exists, and a backup does not replace files. Choose another name`);

function toAdminError(error: unknown, source: string, file: string): unknown {
  if (!(error instanceof Error)) return error;
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT' && !existsSync(dirname(file))) {
    return new AdminError(`The folder ${dirname(file)} does not exist. Create it first, or choose another path`);
  }
  if (isDamage(error)) return damaged(source, error);
  if (isBusy(error)) {
    return new AdminError(
      `${source} is locked by a command such as \`gen3d admin migrate-to\`. Wait until it has finished`,
    );
  }
  const isExpected = isDiskFull(error) || 'syscall' in error || isSqliteError(error);
  return isExpected ? new AdminError(`${file} was not written: ${error.message}`, { cause: error }) : error;
}
