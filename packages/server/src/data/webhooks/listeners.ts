import { webhookSecretPrefix } from '@gen3d/schema';
import type { Insertable, Transaction } from 'kysely';
import { hmac, type KeyRing } from '../../base/server-key.js';
import { quotas } from '../accounts/quotas.js';
import { deleteInBatches } from '../db/bounds.js';
import type { Db, Queryable } from '../db/database.js';
import type { EventRow, Tables } from '../db/tables.js';
import { after, type Time } from '../db/time.js';
import { advisoryLock, forUpdateSkipLocked, transaction } from '../db/transaction.js';

/** After this long without a poll, a listener has expired, and no further events are recorded for it. */
export const listenerLifetimeMs = 60_000;
const maxEventsPerPoll = 100;
const keptMs = 60 * 60 * 1_000;
const secretLength = 40;

/** The account has reached its limit of listeners. */
export class TooManyListenersError extends Error {
  override readonly name = 'TooManyListenersError';
}

export interface Poll {
  /** The oldest events that the listener has not acknowledged. */
  events: EventRow[];
  /** Milliseconds since 1970. All events since then have been or will be returned. */
  since: number;
}

type NewEvent = Omit<Insertable<Tables['listener_events']>, 'listener_id' | 'created_at'> & { created_at: Time };

/** Copies an event to each listener of its account. Must run in the transaction that records the event. */
export async function copyToListeners(trx: Queryable, event: NewEvent, now: Time): Promise<void> {
  const listeners = await trx
    .selectFrom('webhook_listeners')
    .select('id')
    .where('account_id', '=', event.account_id)
    .where('polled_at', '>', after(now, -listenerLifetimeMs))
    .execute();
  if (listeners.length === 0) return;
  const copies = listeners.map(({ id }) => ({ ...event, listener_id: id }));
  await trx.insertInto('listener_events').values(copies).execute();
}

/**
 * Deletes the events that a listener has acknowledged, and returns the next ones. The first poll, and one after the
 * listener's lifetime, start to record events.
 *
 * Acknowledged events are deleted rather than skipped by their numbers, because PostgreSQL may commit a lower number later.
 * @throws {TooManyListenersError}
 */
export async function pollEvents(
  db: Db,
  accountId: string,
  listenerId: string,
  acknowledged: readonly string[],
  now: Time,
): Promise<Poll> {
  return transaction(db, async (trx) => {
    const since = await keepListener(trx, accountId, listenerId, now);
    if (acknowledged.length > 0) {
      await trx
        .deleteFrom('listener_events')
        .where('account_id', '=', accountId)
        .where('listener_id', '=', listenerId)
        .where('event_id', 'in', acknowledged)
        .execute();
    }
    const events = await trx
      .selectFrom('listener_events')
      .selectAll()
      .where('account_id', '=', accountId)
      .where('listener_id', '=', listenerId)
      .orderBy('seq')
      .limit(maxEventsPerPoll)
      .execute();
    return { events, since };
  });
}

/** Renews or registers a listener. Returns the time since when its events are recorded. */
async function keepListener(trx: Transaction<Tables>, accountId: string, id: string, now: Time): Promise<number> {
  const alive = await trx
    .updateTable('webhook_listeners')
    .set({ polled_at: now })
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .where('polled_at', '>', after(now, -listenerLifetimeMs))
    .returning('since')
    .executeTakeFirst();
  if (alive) return alive.since;
  // Otherwise, several that start at the same time would not see each other.
  await advisoryLock(trx, 'listeners');
  const { count } = await trx
    .selectFrom('webhook_listeners')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('account_id', '=', accountId)
    .where('polled_at', '>', after(now, -listenerLifetimeMs))
    .executeTakeFirstOrThrow();
  if (count >= quotas.listeners) throw new TooManyListenersError(`The account has ${quotas.listeners} listeners`);
  const { since } = await trx
    .insertInto('webhook_listeners')
    .values({ account_id: accountId, id, since: now, polled_at: now })
    .onConflict((conflict) => conflict.columns(['account_id', 'id']).doUpdateSet({ since: now, polled_at: now }))
    .returning('since')
    .executeTakeFirstOrThrow();
  return since;
}

/**
 * Returns the secret with which an account's listeners sign the events that they forward. A receiver needs it only
 * once: it changes only when an API key of the account is revoked or the server key is rotated, because somebody who
 * had that key may know the secret. The endpoint's secret is a different one, with a rotation of its own.
 */
export async function listenerSecret(db: Queryable, keyRing: KeyRing, accountId: string): Promise<string> {
  const account = await db
    .selectFrom('accounts')
    .select('key_revoked_at')
    .where('id', '=', accountId)
    .executeTakeFirstOrThrow();
  await keyRing.refresh();
  const mac = hmac(keyRing.current('listener-secrets'), `${accountId} ${account.key_revoked_at}`);
  return webhookSecretPrefix + mac.toString('base64url').slice(0, secretLength);
}

/** Deletes the oldest events of listeners that have too many, for example because they no longer poll. */
export async function limitListenerEvents(db: Db, max: number = quotas.events): Promise<void> {
  const listeners = await db.selectFrom('webhook_listeners').select(['account_id', 'id']).execute();
  for (const { account_id, id } of listeners) {
    const events = db.selectFrom('listener_events').where('account_id', '=', account_id).where('listener_id', '=', id);
    const beyond = await events.select('seq').orderBy('seq', 'desc').limit(1).offset(max).executeTakeFirst();
    if (!beyond) continue;
    await db
      .deleteFrom('listener_events')
      .where('account_id', '=', account_id)
      .where('listener_id', '=', id)
      .where('seq', '<=', beyond.seq)
      .execute();
  }
}

/** Deletes old events, and listeners that expired long ago. */
export async function deleteOldListeners(db: Db, now: number): Promise<void> {
  const old = db.selectFrom('listener_events').where('created_at', '<', now - keptMs);
  await deleteInBatches(db, 'listener_events', 'seq', old.$call(forUpdateSkipLocked(db)));
  await db
    .deleteFrom('webhook_listeners')
    .where('polled_at', '<', now - keptMs)
    .execute();
}
