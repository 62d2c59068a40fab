import type { Logger } from 'pino';
import type { Db } from '../db/open.js';
import { currentTime } from '../db/time.js';
import { whyFailed } from '../db/unavailable.js';

const everyMs = 60_000;

/** Notes when API keys were last used, each at most once a minute: a request that only reads shall not write. */
export class KeyUse {
  readonly #db: Db;
  readonly #log: Logger;
  /** By key id, on this process's clock. */
  readonly #notedAt = new Map<string, number>();

  constructor(db: Db, log: Logger) {
    this.#db = db;
    this.#log = log;
  }

  /** Returns at once: nobody waits for the note, and no request fails because it could not be made. */
  note(keyId: string): void {
    const now = performance.now();
    const notedAt = this.#notedAt.get(keyId);
    if (notedAt !== undefined && now - notedAt < everyMs) return;
    this.#notedAt.set(keyId, now);
    this.#db
      .updateTable('api_keys')
      .set({ last_used_at: currentTime(this.#db) })
      .where('id', '=', keyId)
      .execute()
      .catch((error: unknown) => this.#log.warn({ keyId, ...whyFailed(error) }, 'cannot note that a key was used'));
  }
}
