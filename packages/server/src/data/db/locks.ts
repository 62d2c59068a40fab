import type { SelectQueryBuilder, Transaction } from 'kysely';
import { kindOf, type Queryable, type RowLock } from './database.js';
import type { Tables } from './tables.js';

// On SQLite these do nothing: a transaction locks the whole database from its first statement on.

const locking =
  (lock: RowLock) =>
  (db: Queryable) =>
  <TB extends keyof Tables, O>(query: SelectQueryBuilder<Tables, TB, O>): SelectQueryBuilder<Tables, TB, O> =>
    kindOf(db).lockRows(query, lock);

/** Locks the rows that it reads until the transaction ends: no other transaction changes or locks them. */
export const forUpdate = locking('update');

/** Locks rows for changes that keep their keys: other transactions may still reference the rows. */
export const forNoKeyUpdate = locking('noKeyUpdate');

/** Locks rows as `forUpdate` does, but skips those that another transaction has locked instead of waiting. */
export const forUpdateSkipLocked = locking('updateSkipLocked');

/** Prevents the deletion of rows until the transaction ends. Several transactions can hold this lock. */
export const forKeyShare = locking('keyShare');

/** Lets one transaction at a time proceed, where no row exists yet that could be locked. */
export const advisoryLock = (trx: Transaction<Tables>, purpose: string): Promise<void> =>
  kindOf(trx).advisoryLock(trx, purpose);
