import type { Transaction } from 'kysely';
import type { Db } from './open.js';
import type { Tables } from './tables.js';
import { transaction } from './transaction.js';
import { isUnavailable } from './unavailable.js';

type Work<T> = (trx: Transaction<Tables>) => Promise<T>;

interface Waiting {
  order: string;
  work: Work<unknown>;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
}

/**
 * Lets works that arrive together share one transaction: a commit waits for the disk, and waiting once serves them all.
 *
 * Each is answered only after the commit, so what it promises is as durable as alone. Whatever fails in company, be it
 * another's work or the commit, is done again alone, so that nobody gets an error that is not its own. A work may
 * therefore run twice (never commit twice): it must do nothing but query.
 */
export class GroupCommit {
  readonly #db: Db;
  #waiting: Waiting[] = [];

  constructor(db: Db) {
    this.#db = db;
  }

  /**
   * Resolves with what `work` returned, once it is committed. Works of a group run sorted by `order`, and in the order
   * they came where it is equal. Give the row that the work locks, so that two groups never deadlock.
   */
  run<T>(work: Work<T>, order = ''): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ order, work, resolve: resolve as (value: unknown) => void, reject });
      // After every request that this turn of the event loop has read: those came while the last commit was waiting.
      if (this.#waiting.length === 1) setImmediate(() => this.#commit());
    });
  }

  async #commit(): Promise<void> {
    const group = this.#waiting.toSorted((a, b) => (a.order < b.order ? -1 : Number(a.order > b.order)));
    this.#waiting = [];
    try {
      const values = await transaction(this.#db, async (trx) => {
        const results: unknown[] = [];
        for (const { work } of group) results.push(await work(trx));
        return results;
      });
      for (const [index, { resolve }] of group.entries()) resolve(values[index]);
    } catch (error) {
      // Without a database each would only wait in vain once more.
      if (group.length === 1 || isUnavailable(error)) for (const { reject } of group) reject(error);
      else for (const { work, resolve, reject } of group) await transaction(this.#db, work).then(resolve, reject);
    }
  }
}
