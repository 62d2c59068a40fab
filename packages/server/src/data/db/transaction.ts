import { setTimeout as pause } from 'node:timers/promises';
import type { Transaction } from 'kysely';
import { type Db, kindOf } from './database.js';
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
