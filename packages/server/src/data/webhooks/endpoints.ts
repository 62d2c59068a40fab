import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { type EndpointHealth, type WebhookEvents, webhookSecretPrefix } from '@gen3d/schema';
import { sql } from 'kysely';
import { randomToken } from '../../base/ids.js';
import type { KeyRing } from '../../base/server-key.js';
import { isoTime } from '../../base/time.js';
import { lockAccount } from '../accounts/accounts.js';
import type { Db } from '../db/database.js';
import type { EventRow } from '../db/tables.js';
import { currentTime, type Time } from '../db/time.js';
import { transaction } from '../db/transaction.js';
import { type ClaimedDelivery, dropWaiting } from './deliveries.js';
import { isPauseAhead } from './pauses.js';

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
      .select(['url', 'sealed_secret', 'final_only', 'failing_since'])
      .select(
        sql<number | null>`case when ${isPauseAhead(currentTime(this.#db))} then paused_until end`.as('paused_until'),
      )
      .where('account_id', '=', accountId)
      .executeTakeFirst();
    if (!row) return undefined;
    const { url, sealed_secret, final_only, failing_since, paused_until } = row;
    const health = {
      ...(failing_since !== null && { failing_since: isoTime(failing_since) }),
      ...(paused_until !== null && { paused_until: isoTime(paused_until) }),
    };
    return { url, secret: await this.#box.open(sealed_secret, accountId), ...eventsOf(final_only), health };
  }

  /** Returns the endpoint and the event of a claimed delivery. Undefined if one of them was deleted meanwhile. */
  async ofDelivery({
    event_id,
    lease_token,
  }: ClaimedDelivery): Promise<{ endpoint: Endpoint; event: EventRow; traceId: string | null } | undefined> {
    const row = await this.#db
      .selectFrom('deliveries')
      .innerJoin('webhook_endpoints', 'webhook_endpoints.account_id', 'deliveries.account_id')
      .innerJoin('events', 'events.event_id', 'deliveries.event_id')
      .leftJoin('jobs', 'jobs.id', 'events.job_id')
      .selectAll('events')
      .select(['webhook_endpoints.url', 'sealed_secret', 'trace_id'])
      .where('deliveries.event_id', '=', event_id)
      .where('deliveries.lease_token', '=', lease_token)
      .executeTakeFirst();
    if (!row) return undefined;
    const { url, sealed_secret, trace_id, ...event } = row;
    return {
      endpoint: { url, secret: await this.#box.open(sealed_secret, event.account_id) },
      event,
      traceId: trace_id,
    };
  }

  /**
   * Sets the URL, and ends a pause. Without `events`, the choice of events stays. Returns a secret only if the account
   * had no endpoint.
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
      // One statement, because the endpoint may be deleted meanwhile.
      const stored = await trx
        .insertInto('webhook_endpoints')
        .values({ account_id: accountId, url, sealed_secret, ...finalOnly, created_at: now })
        .onConflict((conflict) =>
          conflict.column('account_id').doUpdateSet({ url, ...finalOnly, failing_since: null, paused_until: null }),
        )
        .returning(['sealed_secret', 'final_only'])
        .executeTakeFirstOrThrow();
      const isNew = stored.sealed_secret === sealed_secret;
      return { url, ...(isNew && { secret }), ...eventsOf(stored.final_only) };
    });
  }

  /** Deletes the endpoint, if any, and drops all deliveries waiting for it. */
  async remove(accountId: string): Promise<void> {
    const now = currentTime(this.#db);
    await transaction(this.#db, async (trx) => {
      await trx.deleteFrom('webhook_endpoints').where('account_id', '=', accountId).execute();
      await dropWaiting(trx, accountId, now);
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

const purpose = 'webhook-secrets';

/**
 * Encrypts webhook secrets at rest with AES-256-GCM under the server key. They are bound to the account: neither a copy
 * of the database nor a row moved to another account reveals a secret. Format: `v1.` and base64url of iv, tag,
 * ciphertext.
 */
export class SecretBox {
  readonly #keyRing: KeyRing;

  constructor(keyRing: KeyRing) {
    this.#keyRing = keyRing;
  }

  /** Uses the newest server key, because the one before may have leaked. */
  async seal(secret: string, accountId: string): Promise<string> {
    await this.#keyRing.refresh();
    const iv = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', this.#keyRing.current(purpose), iv).setAAD(Buffer.from(accountId));
    const sealed = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
    return `v1.${Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url')}`;
  }

  /** @throws if the text was not sealed for this account under one of the server keys */
  async open(sealed: string, accountId: string): Promise<string> {
    if (!sealed.startsWith('v1.')) throw new Error('The stored webhook secret has an unknown format');
    const bytes = Buffer.from(sealed.slice(3), 'base64url');
    const secret = await this.#keyRing.search(purpose, (key) => decrypt(key, bytes, accountId));
    if (secret === undefined) throw new Error('The stored webhook secret belongs to another account or server key');
    return secret;
  }
}

function decrypt(key: Buffer, bytes: Buffer, accountId: string): string | undefined {
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12))
    .setAAD(Buffer.from(accountId))
    .setAuthTag(bytes.subarray(12, 28));
  const secret = decipher.update(bytes.subarray(28), undefined, 'utf8');
  try {
    return secret + decipher.final('utf8');
  } catch {
    return undefined;
  }
}
