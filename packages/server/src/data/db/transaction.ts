import { setTimeout as pause } from 'node:timers/promises';
import type { Transaction } from 'kysely';
import type { Db } from './open.js';
import type { Tables } from './tables.js';

const maxTries = 5;
const maxPauseMs = 50;

/** PostgreSQL's serialization_failure and deadlock_detected: the transaction was rolled back and can be retried. */
const retryable: ReadonlySet<unknown> = new Set(['40001', '40P01']);

const isRetryable = (error: unknown): boolean => error instanceof Error && 'code' in error && retryable.has(error.code);

/** Runs `work` in one transaction. Retries it after a deadlock, so `work` must do nothing but query. */
export async function transaction<T>(db: Db, work: (trx: Transaction<Tables>) => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await db.transaction().execute(work);
    } catch (error) {
      if (!isRetryable(error) || tries === maxTries) throw error;
      await pause(Math.random() * maxPauseMs);
    }
  }
}
