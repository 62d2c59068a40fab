import type { Logger } from 'pino';
import type { Db } from '../db/database.js';
import { currentTime } from '../db/time.js';
import { failureReason } from '../db/unavailable.js';

const intervalMs = 60_000;

/** Records when API keys were last used, each at most once a minute, so that reads do not cause a write each. */
export class KeyUse {
  readonly #db: Db;
  readonly #log: Logger;
  /** When the use of each key was recorded last, by key id, on this process's clock. */
  readonly #recordedAt = new Map<string, number>();

  constructor(db: Db, log: Logger) {
    this.#db = db;
    this.#log = log;
  }

  /** Returns immediately. A failure is only logged. */
  record(keyId: string): void {
    const now = performance.now();
    const recordedAt = this.#recordedAt.get(keyId);
    if (recordedAt !== undefined && now - recordedAt < intervalMs) return;
    this.#recordedAt.set(keyId, now);
    this.#db
      .updateTable('api_keys')
      .set({ last_used_at: currentTime(this.#db) })
      .where('id', '=', keyId)
      .execute()
      .catch((error: unknown) => this.#log.warn({ keyId, ...failureReason(error) }, 'cannot record the use of a key'));
  }
}
