import { timingSafeEqual } from 'node:crypto';
import { apiKeyPrefix } from '@gen3d/schema';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import { newUlid, randomToken } from '../../base/ids.js';
import { toMicroUsd } from '../../base/money.js';
import { hmac, type KeyRing } from '../../base/server-key.js';
import { isoTime } from '../../base/time.js';
import type { Config } from '../../config.js';
import { maxRowsRead } from '../db/bounds.js';
import { compiledOnce, type Parameters } from '../db/compiled-once.js';
import type { Db, Queryable } from '../db/database.js';
import { currentTime, type Time } from '../db/time.js';
import { advisoryLock, transaction } from '../db/transaction.js';
import { failureReason } from '../db/unavailable.js';
import { createAccount, lockAccount } from './accounts.js';
import { QuotaError, quotas } from './quotas.js';

const purpose = 'api-keys';

const keyWithHash = compiledOnce((db, parameter: Parameters<{ hash: string }>) =>
  db.selectFrom('api_keys').select(['id', 'account_id', 'hash', 'revoked_at']).where('hash', '=', parameter('hash')),
);

/**
 * Stores API keys as an HMAC under the server key, so a copy of the database alone neither reveals a key nor allows
 * checking a guess. Nothing is cached, so a revoked key is refused from the next request on, in every process.
 */
export class ApiKeys {
  readonly #keyRing: KeyRing;

  constructor(keyRing: KeyRing) {
    this.#keyRing = keyRing;
  }

  /**
   * Makes a key for an account. The key itself is available only now. `name` is for people. Must run in a transaction.
   * @throws {QuotaError}
   */
  async create(
    db: Queryable,
    accountId: string,
    now: Time,
    {
      name = null,
      apiKey = apiKeyPrefix + randomToken(40),
    }: { name?: string | null; apiKey?: string | undefined } = {},
  ): Promise<{ keyId: string; apiKey: string }> {
    // Otherwise, concurrent requests would not count each other's keys, or could give one to an account that is being
    // deleted.
    await lockAccount(db, accountId);
    const keyId = newUlid();
    const row = {
      id: keyId,
      account_id: accountId,
      name,
      hash: hmac(this.#keyRing.current(purpose), apiKey).toString('hex'),
      ending: apiKey.slice(-4),
      created_at: now,
    };
    const columns = Object.keys(row) as (keyof typeof row)[];
    const { numInsertedOrUpdatedRows } = await db
      .insertInto('api_keys')
      .columns(columns)
      .expression(
        db
          .selectNoFrom(columns.map((column) => sql`${row[column]}`.as(column)))
          .where(keysInUse(db, accountId), '<', quotas.apiKeys),
      )
      .executeTakeFirstOrThrow();
    if (numInsertedOrUpdatedRows === 0n) {
      throw new QuotaError(
        `This account has ${quotas.apiKeys} API keys, which is its limit. Revoke one that it does not need`,
        60 * 60,
      );
    }
    await forgetRevokedKeys(db, accountId);
    return { keyId, apiKey };
  }

  /** Finds the id and account of a key. Undefined if the key is unknown or revoked. */
  async find(db: Queryable, apiKey: string): Promise<{ id: string; account_id: string } | undefined> {
    const found = await this.#keyRing.search(purpose, async (key) => {
      const hash = hmac(key, apiKey);
      const [row] = (await keyWithHash(db, { hash: hash.toString('hex') })).rows;
      // The index lookup is not constant-time, but it sees only an HMAC, so its timing reveals nothing about the key.
      return row && timingSafeEqual(Buffer.from(row.hash, 'hex'), hash) ? { row, key } : undefined;
    });
    if (!found || found.row.revoked_at !== null) return undefined;
    const { row, key } = found;
    const current = this.#keyRing.current(purpose);
    if (key !== current) {
      // This is the key's first use after a rotation of the server key.
      const hash = hmac(current, apiKey).toString('hex');
      await db.updateTable('api_keys').set({ hash }).where('id', '=', row.id).execute();
    }
    return row;
  }
}

/** Counts the account's keys that have not been revoked. */
export const keysInUse = (db: Queryable, accountId: string) =>
  sql<number>`(${db
    .selectFrom('api_keys')
    .select((eb) => eb.fn.countAll().as('count'))
    .where('account_id', '=', accountId)
    .where('revoked_at', 'is', null)})`;

/** Deletes the oldest revoked keys of an account if there are too many. */
async function forgetRevokedKeys(db: Queryable, accountId: string): Promise<void> {
  const rows = await db
    .selectFrom('api_keys')
    .select('id')
    .where('account_id', '=', accountId)
    .where('revoked_at', 'is not', null)
    .orderBy('id', 'desc')
    .limit(maxRowsRead)
    .offset(quotas.apiKeys)
    .execute();
  if (rows.length === 0) return;
  const ids = rows.map(({ id }) => id);
  await db.deleteFrom('dashboard_tokens').where('key_id', 'in', ids).execute();
  await db.deleteFrom('api_keys').where('id', 'in', ids).execute();
}

/** Lists the keys of all accounts, or the newest of one, in the order of their creation. Times are in ISO 8601. */
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

/** Returns those of the keys that are not revoked. */
export async function findValidKeys(db: Queryable, ids: readonly string[]): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  const valid = db.selectFrom('api_keys').select('id').where('id', 'in', ids).where('revoked_at', 'is', null);
  return new Set((await valid.execute()).map(({ id }) => id));
}

const recordUseEveryMs = 60_000;

/** Records when API keys were last used, each at most once a minute, so that reads do not cause a write each. */
export class KeyUse {
  readonly #db: Db;
  readonly #log: Logger;
  /** When the use of each key was recorded in the last minute, the oldest first, on this process's clock. */
  readonly #recordedAt = new Map<string, number>();

  constructor(db: Db, log: Logger) {
    this.#db = db;
    this.#log = log;
  }

  /** Returns immediately. A failure is only logged. */
  record(keyId: string): void {
    const now = performance.now();
    const recordedAt = this.#recordedAt.get(keyId);
    if (recordedAt !== undefined && now - recordedAt < recordUseEveryMs) return;
    for (const [id, at] of this.#recordedAt) {
      if (now - at < recordUseEveryMs) break;
      this.#recordedAt.delete(id);
    }
    this.#recordedAt.set(keyId, now);
    this.#db
      .updateTable('api_keys')
      .set({ last_used_at: currentTime(this.#db) })
      .where('id', '=', keyId)
      .execute()
      .catch((error: unknown) => this.#log.warn({ keyId, ...failureReason(error) }, 'cannot record the use of a key'));
  }
}

export interface Bootstrap {
  accountId: string;
  apiKey: string;
  /** False if the key comes from the settings, so it need not be printed. */
  generated: boolean;
}

/** Creates the account `default` with a key and a balance if there are no accounts. */
export async function bootstrap(db: Db, keys: ApiKeys, config: Config, now: Time): Promise<Bootstrap | undefined> {
  return transaction(db, async (trx) => {
    await advisoryLock(trx, 'bootstrap');
    const any = await trx.selectFrom('accounts').select('id').where('sandbox', '=', 0).limit(1).executeTakeFirst();
    if (any) return undefined;
    const balance = toMicroUsd(config.bootstrapBalanceUsd);
    const account = await createAccount(trx, { name: 'default', balance }, now);
    const { apiKey } = await keys.create(trx, account.id, now, {
      name: 'first start',
      apiKey: config.bootstrapApiKey,
    });
    return { accountId: account.id, apiKey, generated: config.bootstrapApiKey === undefined };
  });
}
