import type { Transaction } from 'kysely';
import type { Db } from './database.js';
import type { Tables } from './tables.js';
import { transaction } from './transaction.js';
import { isUnavailable } from './unavailable.js';

type Operation<T> = (trx: Transaction<Tables>) => Promise<T>;

interface Waiting {
  order: string;
  operation: Operation<unknown>;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
}

/** The limit on concurrent groups. They may wait for locked rows, so most connections stay free for other requests. */
const maxGroups = 4;

/**
 * Runs operations that arrive together in one transaction, so that they share one wait for the disk. With an fsync of
 * 10 ms, 20 concurrent `POST /v1/jobs` on SQLite take 60 ms; with a transaction each, 360 ms.
 *
 * An operation resolves only after the commit, so it is as durable as in its own transaction. If the shared transaction
 * fails, each operation runs again in its own, so none gets another's error. An operation may therefore run twice, but
 * commits at most once: it must do nothing but query.
 */
export class GroupCommit {
  readonly #db: Db;
  #waiting: Waiting[] = [];
  #isScheduled = false;
  #running = 0;

  constructor(db: Db) {
    this.#db = db;
  }

  /**
   * Resolves with the result of `operation` once that is committed. The operations of a group run sorted by `order`, then
   * in order of arrival. Pass the id of the row that the operation locks, so that two groups never deadlock.
   */
  run<T>(operation: Operation<T>, order = ''): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ order, operation, resolve: resolve as (value: unknown) => void, reject });
      this.#schedule();
    });
  }

  /** Starts a group after this turn of the event loop has read all requests that arrived during the last commit. */
  #schedule(): void {
    if (this.#isScheduled || this.#running === maxGroups || this.#waiting.length === 0) return;
    this.#isScheduled = true;
    setImmediate(async () => {
      this.#isScheduled = false;
      this.#running++;
      await this.#commit();
      this.#running--;
      this.#schedule();
    });
  }

  async #commit(): Promise<void> {
    const group = this.#waiting.toSorted((a, b) => (a.order < b.order ? -1 : Number(a.order > b.order)));
    this.#waiting = [];
    try {
      const values = await transaction(this.#db, async (trx) => {
        const results: unknown[] = [];
        for (const { operation } of group) results.push(await operation(trx));
        return results;
      });
      for (const [index, { resolve }] of group.entries()) resolve(values[index]);
    } catch (error) {
      // While the database is unavailable, each would only fail again.
      if (group.length === 1 || isUnavailable(error)) for (const { reject } of group) reject(error);
      else
        for (const { operation, resolve, reject } of group)
          await transaction(this.#db, operation).then(resolve, reject);
    }
  }
}
