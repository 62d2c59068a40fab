import { setTimeout as pause } from 'node:timers/promises';
import type { Transaction } from 'kysely';
import type { Db } from './open.js';
import type { Tables } from './tables.js';

const maxTries = 5;
const longestPauseMs = 50;

/** PostgreSQL: serialization_failure and deadlock_detected. The transaction has done nothing, and may go well next time. */
const transient: ReadonlySet<unknown> = new Set(['40001', '40P01']);

const isTransient = (error: unknown): boolean => error instanceof Error && 'code' in error && transient.has(error.code);

/**
 * Runs `work` in one transaction. Where it was chosen to give way to another it runs again, so it must do nothing but
 * query.
 */
export async function transaction<T>(db: Db, work: (trx: Transaction<Tables>) => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await db.transaction().execute(work);
    } catch (error) {
      if (!isTransient(error) || tries === maxTries) throw error;
      await pause(Math.random() * longestPauseMs);
    }
  }
}
