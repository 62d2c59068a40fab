import { existsSync } from 'node:fs';
import { AdminError } from '../../base/errors.js';
import { schemaState } from '../../data/db/schema.js';
import { damaged, sqlite } from '../../data/db/sqlite.js';
import { isBusy, isDamage, openSqlite, type SqliteConnection } from '../../data/db/sqlite-connection.js';
import type { Tables } from '../../data/db/tables.js';

export type CopiedTable = Exclude<keyof Tables, keyof typeof notCopied>;

/** The state of processes, which a copy would not have. */
const notCopied = {
  runners: true,
  clean_up: true,
} as const;

/**
 * Lists the tables of an installation and their primary keys, referenced tables first. This does not compile until a
 * new table is listed here or above.
 */
export const copiedTables = {
  accounts: 'id',
  api_keys: 'id',
  ledger: 'id',
  jobs: 'id',
  deleted_jobs: 'job_id',
  rates: 'instance',
  webhook_endpoints: 'account_id',
  events: 'event_id',
  deliveries: 'event_id',
  dashboard_tokens: 'hash',
} as const satisfies Record<CopiedTable, string>;

export const copiedTableNames = Object.keys(copiedTables) as CopiedTable[];

export type Row = Readonly<Record<string, string | number | null>>;

/** How long to wait for another command that may be about to finish. */
const lockTimeoutMs = 1_000;

/** A SQLite database, opened read-only with an exclusive lock. Call `close()` when done. */
export interface Source {
  /** Returns the rows after a primary key, or the first rows, in primary key order. */
  rowsAfter(table: CopiedTable, key: string | undefined, limit: number): Row[];
  count(table: CopiedTable): number;
  /** Counts the unfinished jobs with a photo that came with the request instead of a URL. */
  jobsWithPhotos(): number;
  close(): void;
}

/**
 * Opens the database at `path` exclusively. Every gen3d process holds SQLite's shared lock on the file while it runs.
 * The exclusive lock requires that there are none, and excludes them until `close()` or the end of this process.
 * @throws {AdminError} if the file does not exist, is in use, or was written by another version of gen3d
 */
export function openSource(path: string): Source {
  if (!existsSync(path)) {
    throw new AdminError(`No SQLite installation found: ${path} does not exist. Set --data-dir`);
  }
  const database = openSqlite(path, { busyTimeoutMs: lockTimeoutMs });
  try {
    // Takes effect on the first read.
    database.exec('pragma locking_mode = EXCLUSIVE');
    database.exec('pragma query_only = ON');
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
  const countOf = (rows: string) => database.prepare<[], number>(`select count(*) from ${rows}`).pluck().get()!;
  return {
    rowsAfter(table, key, limit) {
      const column = copiedTables[table];
      const from = key === undefined ? '' : `where ${column} > ?`;
      const rows = `select * from ${table} ${from} order by ${column} limit ?`;
      return database.prepare<unknown[], Row>(rows).all(key === undefined ? [limit] : [key, limit]);
    },
    count: countOf,
    jobsWithPhotos: () =>
      countOf(`jobs where finished_at is null and
        1 + json_array_length(coalesce(views, '[]')) > (select count(*) from json_each(coalesce(image_urls, '{}')))`),
    close: () => database.close(),
  };
}

/** Requires the current schema, because migrating would change the source. */
function requireCurrent(database: SqliteConnection, path: string): void {
  const strings = (query: string) => database.prepare<[], string>(query).pluck().all();
  const items = strings(sqlite.schema);
  if (!items.some((item) => item.startsWith('kysely_migration.'))) {
    throw new AdminError(`${path} does not contain a gen3d installation. Set --data-dir`);
  }
  const { relation } = schemaState(items, strings('select name from kysely_migration order by name'));
  if (relation === 'current') return;
  throw new AdminError(
    relation === 'older' || relation === 'new'
      ? `${path} was written by an older gen3d. Start and stop \`gen3d serve\` of this version, which updates it, then run this again`
      : `${path} was written by ${relation === 'newer' ? 'a newer' : 'another'} gen3d. Use that version`,
  );
}
