import { sql } from 'kysely';
import { randomToken } from '../../base/ids.js';
import { hmac, type KeyRing } from '../../base/server-key.js';
import { dayMs } from '../../base/time.js';
import { maxRowsRead } from '../db/bounds.js';
import type { Db, Queryable } from '../db/database.js';
import { after, currentTime, isAhead, type Time } from '../db/time.js';
import { transaction } from '../db/transaction.js';
import { lockAccount } from './accounts.js';
import { AccountDeletedError, quotas } from './quotas.js';

/** How long a sign-in link is valid. It works once. */
export const linkMs = 60 * 60 * 1_000;
/** How long a browser stays signed in. */
export const sessionMs = 7 * dayMs;

const purpose = 'dashboard-tokens';

const hashOf = (key: Buffer, token: string) => hmac(key, token).toString('hex');

/** Whether a link or a session has not expired. */
export const isValidToken = (now: Time) =>
  isAhead('expires_at', now, sql`2 * (expires_at - dashboard_tokens.created_at)`);

/**
 * Returns the path of a sign-in link. The token is in the fragment, which browsers do not send to a server or proxy.
 */
export const signInPath = (token: string): string => `/dashboard/sign-in#${token}`;

/** Identifies the signed-in person: the operator, or the holder of an API key. */
export type Identity = { role: 'operator' } | { role: 'member'; accountId: string; keyId: string };

/**
 * Manages the dashboard's credentials: one-time links and sessions. Like API keys, they are stored as an HMAC under the
 * server key and looked up on each request, so that revoking one takes effect immediately in every process.
 */
export class DashboardTokens {
  readonly #db: Db;
  readonly #keyRing: KeyRing;

  constructor(db: Db, keyRing: KeyRing) {
    this.#db = db;
    this.#keyRing = keyRing;
  }

  /** Returns the values that may be stored for a token, from the current server key to the oldest. */
  #hashes(token: string): string[] {
    return this.#keyRing.subkeys(purpose).map((key) => hashOf(key, token));
  }

  async #issue(db: Queryable, kind: 'link' | 'session', keyId: string | null, lifetimeMs: number): Promise<string> {
    const token = randomToken(43);
    const now = currentTime(db);
    await db
      .deleteFrom('dashboard_tokens')
      .where((eb) => eb.not(isValidToken(now)))
      .execute();
    const row = {
      hash: hashOf(this.#keyRing.current(purpose), token),
      kind,
      key_id: keyId,
      created_at: now,
      expires_at: after(now, lifetimeMs),
    };
    await db.insertInto('dashboard_tokens').values(row).execute();
    return token;
  }

  /** Issues a token that signs one browser in as the operator, once, within an hour. */
  issueLink(): Promise<string> {
    return transaction(this.#db, (trx) => this.#issue(trx, 'link', null, linkMs));
  }

  /** Invalidates a link. Returns false if it is unknown, used or expired. */
  async redeemLink(token: string): Promise<boolean> {
    const used = await this.#keyRing.search(purpose, (key) =>
      this.#db
        .deleteFrom('dashboard_tokens')
        .where('hash', '=', hashOf(key, token))
        .where('kind', '=', 'link')
        .where(isValidToken(currentTime(this.#db)))
        .returning('hash')
        .executeTakeFirst(),
    );
    return used !== undefined;
  }

  /**
   * Issues a session of the operator, or of an API key until that is revoked. Ends the oldest if there are too many.
   * @throws {AccountDeletedError}
   */
  issueSession(keyId: string | null): Promise<string> {
    return transaction(this.#db, async (trx) => {
      const account = trx.selectFrom('api_keys').select('account_id').where('id', '=', keyId);
      if (keyId !== null) {
        // Otherwise, the account's key could be deleted before the session that belongs to it.
        const { account_id } = await account.executeTakeFirstOrThrow(() => new AccountDeletedError());
        await lockAccount(trx, account_id);
      }
      const token = await this.#issue(trx, 'session', keyId, sessionMs);
      const beyond = await trx
        .selectFrom('dashboard_tokens')
        .select('hash')
        .where('kind', '=', 'session')
        .where('hash', 'not in', this.#hashes(token))
        .where((eb) =>
          keyId === null
            ? eb('key_id', 'is', null)
            : eb('key_id', 'in', eb.selectFrom('api_keys').select('id').where('account_id', '=', account)),
        )
        .orderBy('created_at', 'desc')
        .limit(maxRowsRead)
        .offset(quotas.sessions - 1)
        .execute();
      const hashes = beyond.map(({ hash }) => hash);
      if (hashes.length > 0) await trx.deleteFrom('dashboard_tokens').where('hash', 'in', hashes).execute();
      return token;
    });
  }

  async identify(token: string): Promise<Identity | undefined> {
    const row = await this.#keyRing.search(purpose, (key) =>
      this.#db
        .selectFrom('dashboard_tokens')
        .leftJoin('api_keys', 'api_keys.id', 'dashboard_tokens.key_id')
        .select(['key_id', 'account_id', 'revoked_at'])
        .where('dashboard_tokens.hash', '=', hashOf(key, token))
        .where('kind', '=', 'session')
        .where(isValidToken(currentTime(this.#db)))
        .executeTakeFirst(),
    );
    if (!row) return undefined;
    if (row.key_id === null) return { role: 'operator' };
    if (row.account_id === null || row.revoked_at !== null) return undefined;
    return { role: 'member', accountId: row.account_id, keyId: row.key_id };
  }

  async endSession(token: string): Promise<void> {
    await this.#keyRing.search(purpose, (key) =>
      this.#db
        .deleteFrom('dashboard_tokens')
        .where('hash', '=', hashOf(key, token))
        .returning('hash')
        .executeTakeFirst(),
    );
  }
}
