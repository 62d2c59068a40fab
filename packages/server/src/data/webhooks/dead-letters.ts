import { limits } from '@gen3d/schema';
import { dayMs } from '../../base/time.js';
import { quotas } from '../accounts/quotas.js';
import { deleteInBatches } from '../db/bounds.js';
import type { Db } from '../db/database.js';
import type { OutboxRow } from '../db/tables.js';
import type { Time } from '../db/time.js';
import { forKeyShare, forUpdateSkipLocked, transaction } from '../db/transaction.js';
import { resume } from './pauses.js';

const keptMs = limits.deadLetterDays * dayMs;

/** Events whose every delivery failed, oldest first. */
export async function listDeadLetters(db: Db): Promise<OutboxRow[]> {
  return db.selectFrom('outbox').selectAll().where('dead_at', 'is not', null).orderBy('seq').execute();
}

/**
 * Replays dead letters with a full set of attempts and the same event ids: one by its event id, or all since a time. Ends
 * the pauses of their endpoints, so that they are delivered now. Those of accounts without an endpoint stay dead letters.
 * Returns the number of replayed events.
 */
export function replayDeadLetters(db: Db, which: { eventId: string } | { since: number }, now: Time): Promise<number> {
  return transaction(db, async (trx) => {
    const replayed = await trx
      .updateTable('outbox')
      .set({ dead_at: null, attempts: 0, due_at: now })
      .where('dead_at', 'is not', null)
      .where('account_id', 'in', (eb) => eb.selectFrom('webhook_endpoints').select('account_id').$call(forKeyShare(db)))
      .where((eb) => ('eventId' in which ? eb('event_id', '=', which.eventId) : eb('dead_at', '>=', which.since)))
      .returning('account_id')
      .execute();
    for (const accountId of new Set(replayed.map(({ account_id }) => account_id))) await resume(trx, accountId);
    return replayed.length;
  });
}

/** An event that is still waiting this long after an attempt was due will not be delivered. */
const maxOverdueMs = 3 * dayMs;

async function eachEndpoint(db: Db, change: (accountId: string) => Promise<unknown>): Promise<void> {
  const endpoints = await db.selectFrom('webhook_endpoints').select('account_id').execute();
  for (const { account_id } of endpoints) await change(account_id);
}

/**
 * Makes the oldest events of receivers that take fewer than are recorded dead letters, and deletes the oldest dead letters
 * beyond the limit. Otherwise a silent receiver, to which one delivery at a time is made, fills the database.
 */
export async function limitEvents(db: Db, now: Time, max: number = quotas.events): Promise<void> {
  await eachEndpoint(db, async (accountId) => {
    const lastBeyond = (isDead: boolean) =>
      db
        .selectFrom('outbox')
        .select('seq')
        .where('account_id', '=', accountId)
        .where('dead_at', isDead ? 'is not' : 'is', null)
        .orderBy('seq', 'desc')
        .limit(1)
        .offset(max)
        .executeTakeFirst();
    const waiting = await lastBeyond(false);
    if (waiting) {
      await db
        .updateTable('outbox')
        .set({ dead_at: now, last_failure: `more than ${max} newer events were waiting` })
        .where('account_id', '=', accountId)
        .where('dead_at', 'is', null)
        .where('seq', '<=', waiting.seq)
        .execute();
    }
    const dead = await lastBeyond(true);
    if (dead) {
      await db
        .deleteFrom('outbox')
        .where('account_id', '=', accountId)
        .where('dead_at', 'is not', null)
        .where('seq', '<=', dead.seq)
        .execute();
    }
  });
}

/** Makes events that have been overdue for three days dead letters. */
export async function expireEvents(db: Db, now: number): Promise<void> {
  await eachEndpoint(db, (accountId) =>
    db
      .updateTable('outbox')
      .set({ dead_at: now, last_failure: 'the receiver did not take it for three days' })
      .where('account_id', '=', accountId)
      .where('dead_at', 'is', null)
      .where('due_at', '<', now - maxOverdueMs)
      .execute(),
  );
}

/** Deletes the dead letters past their retention time. */
export async function deleteOldDeadLetters(db: Db, now: number): Promise<void> {
  const old = db.selectFrom('outbox').where('dead_at', '<', now - keptMs);
  await deleteInBatches(db, 'outbox', 'seq', old.$call(forUpdateSkipLocked(db)));
}
