import { type EndpointHealth, type WebhookEvents, webhookSecretPrefix } from '@gen3d/schema';
import { randomToken } from '../../base/ids.js';
import { isoTime } from '../../base/time.js';
import { lockAccount } from '../accounts/accounts.js';
import type { Db } from '../db/database.js';
import type { OutboxRow } from '../db/tables.js';
import type { Time } from '../db/time.js';
import { transaction } from '../db/transaction.js';
import { dropWaiting } from './outbox.js';
import type { SecretBox } from './secret-box.js';

export interface Endpoint {
  url: string;
  secret: string;
}

/** Returns the field that an endpoint has if it does not receive all events. */
const eventsOf = (finalOnly: number): { events?: 'final' } => (finalOnly === 1 ? { events: 'final' } : {});

const newSecret = () => webhookSecretPrefix + randomToken(40);

/** Each account has at most one webhook endpoint. */
export class Endpoints {
  readonly #db: Db;
  readonly #box: SecretBox;

  constructor(db: Db, box: SecretBox) {
    this.#db = db;
    this.#box = box;
  }

  async find(accountId: string): Promise<(Endpoint & { events?: 'final'; health: EndpointHealth }) | undefined> {
    const row = await this.#db
      .selectFrom('webhook_endpoints')
      .select(['url', 'sealed_secret', 'final_only', 'failing_since', 'paused_until'])
      .where('account_id', '=', accountId)
      .executeTakeFirst();
    if (!row) return undefined;
    const { url, sealed_secret, final_only, failing_since, paused_until } = row;
    const health = {
      ...(failing_since !== null && { failing_since: isoTime(failing_since) }),
      ...(paused_until !== null && paused_until > Date.now() && { paused_until: isoTime(paused_until) }),
    };
    return { url, secret: await this.#box.open(sealed_secret, accountId), ...eventsOf(final_only), health };
  }

  /** Returns the endpoint for a claimed delivery. Undefined if the event or the endpoint was dropped meanwhile. */
  async ofDelivery({ seq, lease_token, account_id }: OutboxRow): Promise<Endpoint | undefined> {
    const row = await this.#db
      .selectFrom('webhook_endpoints')
      .innerJoin('outbox', 'outbox.account_id', 'webhook_endpoints.account_id')
      .select(['url', 'sealed_secret'])
      .where('outbox.seq', '=', seq)
      .where('outbox.lease_token', '=', lease_token)
      .executeTakeFirst();
    return row && { url: row.url, secret: await this.#box.open(row.sealed_secret, account_id) };
  }

  /**
   * Sets the URL, and ends a pause. Without `events`, the choice of events stays. Returns a secret only if the account had
   * no endpoint.
   */
  async put(
    accountId: string,
    url: string,
    now: Time,
    events?: WebhookEvents,
  ): Promise<{ url: string; secret?: string; events?: 'final' }> {
    const finalOnly = events && { final_only: events === 'final' ? 1 : 0 };
    const secret = newSecret();
    const sealed_secret = await this.#box.seal(secret, accountId);
    return transaction(this.#db, async (trx) => {
      // Otherwise, the endpoint of an account that is deleted meanwhile would stay.
      await lockAccount(trx, accountId);
      const { numInsertedOrUpdatedRows } = await trx
        .insertInto('webhook_endpoints')
        .values({
          account_id: accountId,
          url,
          sealed_secret,
          ...finalOnly,
          created_at: now,
        })
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirstOrThrow();
      if (numInsertedOrUpdatedRows === 1n) return { url, secret, ...eventsOf(finalOnly?.final_only ?? 0) };
      const { final_only } = await trx
        .updateTable('webhook_endpoints')
        .set({ url, ...finalOnly, failing_since: null, paused_until: null })
        .where('account_id', '=', accountId)
        .returning('final_only')
        .executeTakeFirstOrThrow();
      return { url, ...eventsOf(final_only) };
    });
  }

  /** Deletes the endpoint, if any, and drops all events waiting for it. */
  async remove(accountId: string): Promise<void> {
    await transaction(this.#db, async (trx) => {
      await trx.deleteFrom('webhook_endpoints').where('account_id', '=', accountId).execute();
      await dropWaiting(trx, accountId);
    });
  }

  /** Replaces the secret that signs all further deliveries. Undefined without an endpoint. */
  async rotate(accountId: string): Promise<string | undefined> {
    const secret = newSecret();
    const { numUpdatedRows } = await this.#db
      .updateTable('webhook_endpoints')
      .set({ sealed_secret: await this.#box.seal(secret, accountId) })
      .where('account_id', '=', accountId)
      .executeTakeFirstOrThrow();
    return numUpdatedRows === 1n ? secret : undefined;
  }

  /** Encrypts all secrets with the newest server key. They stay the same. */
  async sealAgain(): Promise<void> {
    const rows = await this.#db.selectFrom('webhook_endpoints').select(['account_id', 'sealed_secret']).execute();
    for (const { account_id, sealed_secret } of rows) {
      const secret = await this.#box.open(sealed_secret, account_id);
      await this.#db
        .updateTable('webhook_endpoints')
        .set({ sealed_secret: await this.#box.seal(secret, account_id) })
        .where('account_id', '=', account_id)
        .where('sealed_secret', '=', sealed_secret)
        .execute();
    }
  }
}
