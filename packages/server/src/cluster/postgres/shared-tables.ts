import type { Kysely } from 'kysely';
import type { Queryable } from '../../data/db/database.js';
import type { Tables } from '../../data/db/tables.js';

/** State that the servers of one PostgreSQL share. A SQLite server keeps it in a file and in its process. */
interface SharedTables {
  /** One row: the server keys that its servers share. */
  server_key: {
    id: number;
    /** 64 hexadecimal digits each, the current one first, or null if every server has them in its settings. */
    key: string | null;
    /** Identifies the current key without revealing it. */
    fingerprint: string;
  };
  /** At most one row: the location of assets and inputs; see ../location.ts. */
  asset_location: {
    id: number;
    /** Name of the location's marker file, which identifies the location. */
    mark: string;
    /** The location as the settings of the server that stored this row name it, for messages. */
    location: string;
  };
  /** One row per bucket: the token buckets that its servers share; see shared-bucket.ts. */
  rate_bucket: {
    id: number;
    tokens: number;
    /** Number of tokens granted to the statement that wrote the row. */
    granted: number;
    filled_at: number;
  };
}

export type StoredLocation = SharedTables['asset_location'];

/** Types a database or transaction with the tables that only PostgreSQL has. */
export const withSharedTables = (db: Queryable) => db as unknown as Kysely<Tables & SharedTables>;

export const sharedTables = [
  'create table server_key (id integer primary key check (id = 1), key text, fingerprint text not null)',
  // Unlogged, so that counting a request does not wait for the disk. After a crash the buckets are full.
  `create unlogged table rate_bucket (
    id integer primary key,
    tokens double precision not null, granted integer not null, filled_at bigint not null
  )`,
  'create table asset_location (id integer primary key check (id = 1), mark text not null, location text not null)',
];
