import { existsSync } from 'node:fs';
import Database from 'better-sqlite3';
import { AdminError } from '../../base/errors.js';
import type { Outcome } from '../assets/asset-store.js';
import { migrations } from '../db/migrations.js';
import { damaged, isDamage } from '../db/sqlite.js';
import { isBusy } from '../db/sqlite-driver.js';
import type { JobRow } from '../db/tables.js';
import { type CopiedTable, copiedTables } from './copied-tables.js';

export type Row = Readonly<Record<string, string | number | null>>;
export type Key = string | number;

/** An administrator's other command may be about to end. */
const patienceMs = 1_000;

/** A SQLite database that nobody else has open while it is read, and that is only read. Call `close()` when done. */
export interface Source {
  /** The rows behind a primary key (undefined: from the first), in its order. */
  rowsAfter(table: CopiedTable, key: Key | undefined, limit: number): Row[];
  count(table: CopiedTable): number;
  /** Ids of the jobs that are not finished and whose photo came with them. */
  waitingPhotos(): string[];
  /** What became of a job; undefined where it has no record (any more). */
  outcomeOf(jobId: string): Outcome | undefined;
  /** The asset keys that jobs name. */
  assetKeys(): Iterable<string>;
  close(): void;
}

/**
 * Opens the database at `path` for this process alone. Every process of gen3d keeps it open as long as it lives, and with
 * it SQLite's shared lock on the file; the exclusive one can be had only where nobody does, and keeps everybody out
 * until `close()`, or until the kernel drops it with the process.
 * @throws {AdminError} if it is not there, is in use, or was written by another version of gen3d
 */
export function openSource(path: string): Source {
  if (!existsSync(path)) {
    throw new AdminError(`There is no SQLite installation to move: ${path} is not there. Say where with --data-dir`);
  }
  const database = new Database(path, { fileMustExist: true, timeout: patienceMs });
  try {
    // Before the first read, which then takes the lock.
    database.pragma('locking_mode = EXCLUSIVE');
    database.pragma('query_only = ON');
    requireCurrent(database, path);
  } catch (error) {
    database.close();
    if (isDamage(error)) throw damaged(path, error);
    if (!isBusy(error)) throw error;
    throw new AdminError(
      `${path} is open in a server, a worker or another gen3d command, and what that still writes would be lost. Stop them all, then run this again`,
      { cause: error },
    );
  }
  return {
    rowsAfter(table, key, limit) {
      const column = copiedTables[table];
      const from = key === undefined ? '' : `where ${column} > @key`;
      return database.prepare<unknown[], Row>(`select * from ${table} ${from} order by ${column} limit @limit`).all({
        limit,
        ...(key === undefined ? {} : { key }),
      });
    },
    count: (table) => database.prepare<[], number>(`select count(*) from ${table}`).pluck().get() ?? 0,
    waitingPhotos: () =>
      database.prepare<[], string>('select id from jobs where finished_at is null and image_url is null').pluck().all(),
    outcomeOf(jobId) {
      const row = database
        .prepare<[string], Pick<JobRow, 'finished_at' | 'model_key'>>(
          'select finished_at, model_key from jobs where id = ?',
        )
        .get(jobId);
      return row && { finished: row.finished_at !== null, modelKey: row.model_key };
    },
    assetKeys: () =>
      database
        .prepare<[], string>(
          `select model_key from jobs where model_key is not null
           union all select thumbnail_key from jobs where thumbnail_key is not null`,
        )
        .pluck()
        .iterate(),
    close: () => void database.close(),
  };
}

/** To bring it up to date here would change the source. */
function requireCurrent(database: Database.Database, path: string): void {
  const made = new Set(appliedMigrations(database));
  const known = Object.keys(migrations);
  if (made.size === 0) throw new AdminError(`${path} holds no installation of gen3d. Say where it is with --data-dir`);
  if ([...made].some((name) => !known.includes(name))) {
    throw new AdminError(`${path} was written by a newer gen3d: update gen3d, then run this again`);
  }
  if (made.size < known.length) {
    throw new AdminError(
      `${path} was written by an older gen3d. Bring it up to date with \`gen3d admin account list\`, then run this again`,
    );
  }
}

function appliedMigrations(database: Database.Database): string[] {
  const has = database.prepare("select 1 from sqlite_master where name = 'kysely_migration'").get();
  return has ? database.prepare<[], string>('select name from kysely_migration').pluck().all() : [];
}
