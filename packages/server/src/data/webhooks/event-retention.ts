import { limits } from '@gen3d/schema';
import { encodeTime } from 'ulid';
import { nextTurn } from '../../base/next-turn.js';
import { dayMs } from '../../base/time.js';
import { quotas } from '../accounts/quotas.js';
import { deleteInBatches } from '../db/bounds.js';
import type { Db } from '../db/database.js';
import type { DeliveryRow } from '../db/tables.js';
import type { Time } from '../db/time.js';
import { forUpdateSkipLocked } from '../db/transaction.js';
import { isWaiting } from './deliveries.js';

// Bounds what is kept of an account's events: for streams, the newest 10,000 of a day; of deliveries, 10,000 that wait,
// as many dead letters, and the newest 500 of the others, for 14 days. An event stays as long as its delivery.

/** How long streams can continue after an event. */
const eventKeptMs = dayMs;
const deliveryKeptMs = limits.deadLetterDays * dayMs;
/** An event that is still waiting this long after an attempt was due will not be delivered. */
const maxOverdueMs = 3 * dayMs;

const waitingDeliveries = (db: Db, accountId: string) =>
  db.updateTable('deliveries').where('account_id', '=', accountId).where('state', '=', isWaiting);

const withoutDelivery = (db: Db) =>
  db
    .selectFrom('events')
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom('deliveries').select('event_id').whereRef('deliveries.event_id', '=', 'events.event_id'))),
    );

/**
 * Deletes the oldest events and deliveries of accounts that have too many, and makes the oldest waiting ones dead
 * letters. Otherwise a silent receiver, to which one delivery at a time is made, fills the database.
 */
export async function limitEvents(db: Db, now: Time, max: number = quotas.events): Promise<void> {
  const accounts = await db
    .selectFrom('accounts')
    .select('id')
    .where('last_event_at', '>', Date.now() - deliveryKeptMs)
    .execute();
  for (const { id } of accounts) {
    await nextTurn();
    const in_ = (...states: DeliveryRow['state'][]) =>
      db.selectFrom('deliveries').where('account_id', '=', id).where('state', 'in', states);
    const newestBeyond = async (rows: ReturnType<typeof in_>, count: number) =>
      rows.select('event_id').orderBy('event_id', 'desc').limit(1).offset(count).executeTakeFirst();
    const waiting = await newestBeyond(in_('waiting'), max);
    if (waiting) {
      await waitingDeliveries(db, id)
        .set({ state: 'dead', ended_at: now, failure: `more than ${max} newer events were waiting` })
        .where('event_id', '<=', waiting.event_id)
        .execute();
    }
    for (const [rows, count] of [
      [in_('dead'), max],
      [in_('delivered', 'dropped'), quotas.deliveries],
    ] as const) {
      const last = await newestBeyond(rows, count);
      if (!last) continue;
      const excess = rows.where('event_id', '<=', last.event_id).$call(forUpdateSkipLocked(db));
      await deleteInBatches(db, 'deliveries', 'event_id', excess);
    }
    const events = db.selectFrom('events').select('event_id').where('account_id', '=', id);
    const last = await events.orderBy('event_id', 'desc').limit(1).offset(max).executeTakeFirst();
    if (!last) continue;
    const excess = withoutDelivery(db).where('account_id', '=', id).where('event_id', '<=', last.event_id);
    await deleteInBatches(db, 'events', 'event_id', excess.$call(forUpdateSkipLocked(db)));
  }
}

/** Makes events that have been overdue for three days dead letters. */
export async function expireEvents(db: Db, now: number): Promise<void> {
  const endpoints = await db.selectFrom('webhook_endpoints').select('account_id').execute();
  for (const { account_id } of endpoints) {
    await nextTurn();
    await waitingDeliveries(db, account_id)
      .set({ state: 'dead', ended_at: now, failure: 'the receiver did not accept it for three days' })
      .where('due_at', '<', now - maxOverdueMs)
      .execute();
  }
}

/** Deletes deliveries and events past their retention time. */
export async function deleteOldEvents(db: Db, now: number): Promise<void> {
  const ended = db
    .selectFrom('deliveries')
    .where('state', 'in', ['delivered', 'dead', 'dropped'])
    .where('ended_at', '<', now - deliveryKeptMs);
  await deleteInBatches(db, 'deliveries', 'event_id', ended.$call(forUpdateSkipLocked(db)));
  const old = withoutDelivery(db).where('event_id', '<', encodeTime(Math.max(0, now - eventKeptMs)));
  await deleteInBatches(db, 'events', 'event_id', old.$call(forUpdateSkipLocked(db)));
}
