import type { Transaction } from 'kysely';
import type { Db } from './database.js';
import type { Tables } from './tables.js';
import { transaction } from './transaction.js';
import { isUnavailable, mayBeCommitted } from './unavailable.js';

type Operation<T> = (trx: Transaction<Tables>) => Promise<T>;

interface Waiting {
  operation: Operation<unknown>;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
}

/** The limit on concurrent groups. They may wait for locked rows, so most connections stay free for other requests. */
const maxGroups = 4;
/** The limit on the operations of a group, so that the row of its account is not locked for long. */
const maxOperations = 20;

/**
 * Runs operations of one account that arrive together in one transaction, because each of its transactions would wait
 * for the previous one to release the account's row. Accounts take turns, so that an account with many operations does
 * not delay those of others.
 *
 * An operation resolves only after the commit, so it is as durable as in its own transaction. If the shared transaction
 * fails, each operation runs again in its own, so none gets another's error. An operation may therefore run twice, but
 * commits at most once: it must do nothing but query.
 */
export class GroupCommit {
  readonly #db: Db;
  /** By account, in the order of their turns. */
  readonly #waiting = new Map<string, Waiting[]>();
  readonly #busy = new Set<string>();
  #isScheduled = false;

  constructor(db: Db) {
    this.#db = db;
  }

  /** Resolves with the result of `operation` once that is committed. An account's operations run in their order. */
  run<T>(operation: Operation<T>, account: string): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const waiting = this.#waiting.get(account) ?? [];
      waiting.push({ operation, resolve: resolve as (value: unknown) => void, reject });
      this.#waiting.set(account, waiting);
      this.#schedule();
    });
  }

  /** Starts groups after this turn of the event loop has read all requests that arrived during the last commit. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#startGroups();
    });
  }

  #startGroups(): void {
    for (const [account, waiting] of this.#waiting) {
      if (this.#busy.size === maxGroups) return;
      if (this.#busy.has(account)) continue;
      const group = waiting.splice(0, maxOperations);
      // The rest waits for the account's next turn.
      this.#waiting.delete(account);
      if (waiting.length > 0) this.#waiting.set(account, waiting);
      this.#busy.add(account);
      void this.#commit(group).then(() => {
        this.#busy.delete(account);
        this.#schedule();
      });
    }
  }

  /** Never rejects. */
  async #commit(group: readonly Waiting[]): Promise<void> {
    try {
      const values = await transaction(this.#db, async (trx) => {
        const results: unknown[] = [];
        for (const { operation } of group) results.push(await operation(trx));
        return results;
      });
      for (const [index, { resolve }] of group.entries()) resolve(values[index]);
    } catch (error) {
      // While the database is unavailable, each would only fail again. A group that is committed must not run again.
      if (group.length === 1 || isUnavailable(error) || mayBeCommitted(error))
        for (const { reject } of group) reject(error);
      else
        for (const { operation, resolve, reject } of group)
          await transaction(this.#db, operation).then(resolve, reject);
    }
  }
}
