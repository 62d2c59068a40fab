import { type SelectQueryBuilder, sql, type Transaction } from 'kysely';
import { isPostgres } from './dialect.js';
import type { Queryable } from './open.js';
import type { Tables } from './tables.js';

// SQLite's transactions hold the whole database from their first statement on, so there is nothing to add to theirs.

type Query<TB extends keyof Tables, O> = SelectQueryBuilder<Tables, TB, O>;

/** Reads rows in order to write them: nobody else changes them, or reads them so, before the transaction ends. */
export const forUpdate =
  (db: Queryable) =>
  <TB extends keyof Tables, O>(query: Query<TB, O>): Query<TB, O> =>
    isPostgres(db) ? query.forUpdate() : query;

/** As `forUpdate`, for a change that leaves the row's key alone: others may refer to the row meanwhile. */
export const forNoKeyUpdate =
  (db: Queryable) =>
  <TB extends keyof Tables, O>(query: Query<TB, O>): Query<TB, O> =>
    isPostgres(db) ? query.forNoKeyUpdate() : query;

/** As `forUpdate`, and leaves out the rows that somebody else holds instead of waiting for them. */
export const forUpdateSkipLocked =
  (db: Queryable) =>
  <TB extends keyof Tables, O>(query: Query<TB, O>): Query<TB, O> =>
    isPostgres(db) ? query.forUpdate().skipLocked() : query;

/** Keeps rows from being deleted before the transaction ends; several may do so at once. */
export const forKeyShare =
  (db: Queryable) =>
  <TB extends keyof Tables, O>(query: Query<TB, O>): Query<TB, O> =>
    isPostgres(db) ? query.forKeyShare() : query;

/** Lets one transaction at a time past for a purpose: where there is no row yet that could be locked. */
export async function oneAtATime(trx: Transaction<Tables>, purpose: string): Promise<void> {
  if (isPostgres(trx)) await sql`select pg_advisory_xact_lock(hashtext(${`gen3d ${purpose}`}))`.execute(trx);
}
