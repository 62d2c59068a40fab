import { timingSafeEqual } from 'node:crypto';
import { apiKeyPrefix } from '@gen3d/schema';
import { newUlid, randomToken } from '../../base/ids.js';
import { hmac, subkey } from '../../base/server-key.js';
import { isoTime } from '../../base/time.js';
import { maxRowsRead } from '../db/bounds.js';
import type { Queryable } from '../db/open.js';
import type { Time } from '../db/time.js';

/**
 * API keys, stored as an HMAC under the server key: a copy of the database alone neither reveals a key nor allows checking
 * a guess. Nothing is cached, so a revoked key is refused from the next request on, in every process.
 */
export class ApiKeys {
  readonly #hmacKey: Buffer;

  constructor(serverKey: Buffer) {
    this.#hmacKey = subkey(serverKey, 'api-keys');
  }

  #hash(apiKey: string): Buffer {
    return hmac(this.#hmacKey, apiKey);
  }

  /** Makes a key for an account. The key itself is available only now. `name` is for people. */
  async create(
    db: Queryable,
    accountId: string,
    now: Time,
    {
      name = null,
      apiKey = apiKeyPrefix + randomToken(40),
    }: { name?: string | null; apiKey?: string | undefined } = {},
  ): Promise<{ keyId: string; apiKey: string }> {
    const keyId = newUlid();
    await db
      .insertInto('api_keys')
      .values({
        id: keyId,
        account_id: accountId,
        name,
        hash: this.#hash(apiKey).toString('hex'),
        ending: apiKey.slice(-4),
        created_at: now,
        last_used_at: null,
        revoked_at: null,
      })
      .execute();
    return { keyId, apiKey };
  }

  /** The id and account of a key. Undefined if it is unknown or revoked. */
  async find(db: Queryable, apiKey: string): Promise<{ id: string; account_id: string } | undefined> {
    const hash = this.#hash(apiKey);
    const row = await db
      .selectFrom('api_keys')
      .select(['id', 'account_id', 'hash', 'revoked_at'])
      .where('hash', '=', hash.toString('hex'))
      .executeTakeFirst();
    if (!row || row.revoked_at !== null) return undefined;
    // The index lookup is not constant-time, but it sees only an HMAC, so its timing reveals nothing about the key.
    return timingSafeEqual(Buffer.from(row.hash, 'hex'), hash) ? row : undefined;
  }
}

/** The keys of all accounts, or the newest of one, in the order of their creation, with times in ISO 8601. */
export async function listKeys(db: Queryable, accountId?: string) {
  let query = db.selectFrom('api_keys').selectAll().orderBy('id', 'desc');
  if (accountId !== undefined) query = query.where('account_id', '=', accountId).limit(maxRowsRead);
  const rows = await query.execute();
  return rows.reverse().map(({ id, account_id, name, ending, created_at, last_used_at, revoked_at }) => ({
    key_id: id,
    account_id,
    name,
    ending,
    created_at: isoTime(created_at),
    last_used_at: last_used_at === null ? null : isoTime(last_used_at),
    revoked_at: revoked_at === null ? null : isoTime(revoked_at),
  }));
}

/** Revokes a key immediately. Returns false if the id is unknown, or is another account's key. */
export async function revokeKey(db: Queryable, keyId: string, now: Time, accountId?: string): Promise<boolean> {
  const key = await db.selectFrom('api_keys').select('account_id').where('id', '=', keyId).executeTakeFirst();
  if (!key || (accountId !== undefined && key.account_id !== accountId)) return false;
  await db
    .updateTable('api_keys')
    .set({ revoked_at: now })
    .where('id', '=', keyId)
    .where('revoked_at', 'is', null)
    .execute();
  return true;
}
