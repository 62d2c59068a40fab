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

/** How long to wait for another command that may be about to finish. */
const lockTimeoutMs = 1_000;

/** A SQLite database, opened read-only with an exclusive lock. Call `close()` when done. */
export interface Source {
  /** The rows after a primary key, or from the first, in primary key order. */
  rowsAfter(table: CopiedTable, key: Key | undefined, limit: number): Row[];
  count(table: CopiedTable): number;
  /** Ids of the unfinished jobs with a stored image. */
  waitingInputs(): string[];
  /** The outcome of a job; undefined without a record. */
  outcomeOf(jobId: string): Outcome | undefined;
  /** The asset keys of all jobs. */
  assetKeys(): Iterable<string>;
  close(): void;
}

/**
 * Opens the database at `path` exclusively. Every gen3d process holds SQLite's shared lock on the file while it runs. The
 * exclusive lock requires that there are none, and excludes them until `close()` or the end of this process.
 * @throws {AdminError} if the file does not exist, is in use, or was written by another version of gen3d
 */
export function openSource(path: string): Source {
  if (!existsSync(path)) {
    throw new AdminError(`No SQLite installation found: ${path} does not exist. Set --data-dir`);
  }
  const database = new Database(path, { fileMustExist: true, timeout: lockTimeoutMs });
  try {
    // Takes effect on the first read.
    database.pragma('locking_mode = EXCLUSIVE');
    database.pragma('query_only = ON');
    requireCurrent(database, path);
  } catch (error) {
    database.close();
    if (isDamage(error)) throw damaged(path, error);
    if (!isBusy(error)) throw error;
    throw new AdminError(
      `${path} is open in a server, a worker or another gen3d command, whose further writes would be lost. Stop them all, then run this again`,
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
    waitingInputs: () =>
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

/** Requires the current schema, because migrating would change the source. */
function requireCurrent(database: Database.Database, path: string): void {
  const applied = new Set(appliedMigrations(database));
  const known = Object.keys(migrations);
  if (applied.size === 0) throw new AdminError(`${path} does not contain a gen3d installation. Set --data-dir`);
  if ([...applied].some((name) => !known.includes(name))) {
    throw new AdminError(`${path} was written by a newer gen3d. Update gen3d, then run this again`);
  }
  if (applied.size < known.length) {
    throw new AdminError(
      `${path} was written by an older gen3d. Update it with \`gen3d admin account list\`, then run this again`,
    );
  }
}

function appliedMigrations(database: Database.Database): string[] {
  const has = database.prepare("select 1 from sqlite_master where name = 'kysely_migration'").get();
  return has ? database.prepare<[], string>('select name from kysely_migration').pluck().all() : [];
}
