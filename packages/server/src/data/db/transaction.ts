import { setTimeout as pause } from 'node:timers/promises';
import type { SelectQueryBuilder, Transaction } from 'kysely';
import { type Db, kindOf, type Queryable, type RowLock } from './database.js';
import type { Tables } from './tables.js';

const maxTries = 5;
const maxPauseMs = 50;

/**
 * Runs `work` in one transaction. Retries it after a deadlock, so `work` must do nothing but query. Inside another
 * transaction, `work` becomes a part of that.
 */
export async function transaction<T>(db: Db, work: (trx: Transaction<Tables>) => Promise<T>): Promise<T> {
  if (db.isTransaction) return work(db as Transaction<Tables>);
  for (let tries = 1; ; tries++) {
    try {
      return await db.transaction().execute(work);
    } catch (error) {
      if (!kindOf(db).isRetryable(error) || tries === maxTries) throw error;
      await pause(Math.random() * maxPauseMs);
    }
  }
}

// On SQLite the locks below do nothing: a transaction locks the whole database from its first statement on.

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
