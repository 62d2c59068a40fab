import { randomToken } from '../../base/ids.js';
import { hmac, subkey } from '../../base/server-key.js';
import type { Db } from '../db/open.js';
import { after, currentTime } from '../db/time.js';

/** How long a printed sign-in link works, once. */
export const linkMs = 60 * 60 * 1_000;
/** How long a browser stays signed in. */
export const sessionMs = 7 * 24 * 60 * 60 * 1_000;

/** Where a sign-in link leads. The token is in the fragment, which is sent to no server, log or proxy. */
export const signInPath = (token: string): string => `/dashboard/sign-in#${token}`;

/** Who is signed in: the operator, or whoever holds an API key of an account. */
export type Identity = { role: 'operator' } | { role: 'member'; accountId: string; keyId: string };

/**
 * What a person shows instead of an API key: one-time links and sessions. Stored as an HMAC under the server key, like API
 * keys, and looked up at each request: what is revoked, by any process, is refused from then on.
 */
export class DashboardTokens {
  readonly #db: Db;
  readonly #hmacKey: Buffer;

  constructor(db: Db, serverKey: Buffer) {
    this.#db = db;
    this.#hmacKey = subkey(serverKey, 'dashboard-tokens');
  }

  #hash(token: string): string {
    return hmac(this.#hmacKey, token).toString('hex');
  }

  async #issue(kind: 'link' | 'session', keyId: string | null, lifeMs: number): Promise<string> {
    const token = randomToken(43);
    const now = currentTime(this.#db);
    await this.#db.deleteFrom('dashboard_tokens').where('expires_at', '<=', now).execute();
    const row = { hash: this.#hash(token), kind, key_id: keyId, created_at: now, expires_at: after(now, lifeMs) };
    await this.#db.insertInto('dashboard_tokens').values(row).execute();
    return token;
  }

  /** A token that makes one browser the operator's, once, within an hour. */
  issueLink(): Promise<string> {
    return this.#issue('link', null, linkMs);
  }

  /** Uses a link up. False when there is none such, or it was used or is too old. */
  async redeemLink(token: string): Promise<boolean> {
    const used = await this.#db
      .deleteFrom('dashboard_tokens')
      .where('hash', '=', this.#hash(token))
      .where('kind', '=', 'link')
      .where('expires_at', '>', currentTime(this.#db))
      .returning('hash')
      .executeTakeFirst();
    return used !== undefined;
  }

  /** A session of the operator, or of an API key, with which it ends. */
  issueSession(keyId: string | null): Promise<string> {
    return this.#issue('session', keyId, sessionMs);
  }

  async identify(token: string): Promise<Identity | undefined> {
    const row = await this.#db
      .selectFrom('dashboard_tokens')
      .leftJoin('api_keys', 'api_keys.id', 'dashboard_tokens.key_id')
      .select(['key_id', 'account_id', 'revoked_at'])
      .where('dashboard_tokens.hash', '=', this.#hash(token))
      .where('kind', '=', 'session')
      .where('expires_at', '>', currentTime(this.#db))
      .executeTakeFirst();
    if (!row) return undefined;
    if (row.key_id === null) return { role: 'operator' };
    if (row.account_id === null || row.revoked_at !== null) return undefined;
    return { role: 'member', accountId: row.account_id, keyId: row.key_id };
  }

  async endSession(token: string): Promise<void> {
    await this.#db.deleteFrom('dashboard_tokens').where('hash', '=', this.#hash(token)).execute();
  }

  /** Ends every session of the operator but this one, and every link that was not used yet. */
  async endOtherOperators(token: string): Promise<void> {
    await this.#db
      .deleteFrom('dashboard_tokens')
      .where('key_id', 'is', null)
      .where('hash', '!=', this.#hash(token))
      .execute();
  }
}
