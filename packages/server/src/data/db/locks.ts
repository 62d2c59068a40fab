import { type SelectQueryBuilder, sql, type Transaction } from 'kysely';
import { isPostgres } from './dialect.js';
import type { Queryable } from './open.js';
import type { Tables } from './tables.js';

// On SQLite these do nothing: a transaction locks the whole database from its first statement on.

type Query<TB extends keyof Tables, O> = SelectQueryBuilder<Tables, TB, O>;

/** Locks the rows that it reads until the transaction ends: no other transaction changes or locks them. */
export const forUpdate =
  (db: Queryable) =>
  <TB extends keyof Tables, O>(query: Query<TB, O>): Query<TB, O> =>
    isPostgres(db) ? query.forUpdate() : query;

/** Like `forUpdate`, for changes that keep the row's key: other transactions may still reference the row. */
export const forNoKeyUpdate =
  (db: Queryable) =>
  <TB extends keyof Tables, O>(query: Query<TB, O>): Query<TB, O> =>
    isPostgres(db) ? query.forNoKeyUpdate() : query;

/** Like `forUpdate`, but skips rows that another transaction has locked instead of waiting for them. */
export const forUpdateSkipLocked =
  (db: Queryable) =>
  <TB extends keyof Tables, O>(query: Query<TB, O>): Query<TB, O> =>
    isPostgres(db) ? query.forUpdate().skipLocked() : query;

/** Prevents the deletion of rows until the transaction ends. Several transactions can hold this lock. */
export const forKeyShare =
  (db: Queryable) =>
  <TB extends keyof Tables, O>(query: Query<TB, O>): Query<TB, O> =>
    isPostgres(db) ? query.forKeyShare() : query;

/** Lets one transaction at a time proceed, where no row exists yet that could be locked. */
export async function advisoryLock(trx: Transaction<Tables>, purpose: string): Promise<void> {
  if (isPostgres(trx)) await sql`select pg_advisory_xact_lock(hashtext(${`gen3d ${purpose}`}))`.execute(trx);
}
