import type { Db } from '../db/database.js';
import type { Time } from '../db/time.js';
import { forKeyShare, transaction } from '../db/transaction.js';
import { resume } from './pauses.js';

/** Events whose every delivery failed, oldest first. */
export const listDeadLetters = (db: Db) =>
  db
    .selectFrom('deliveries')
    .innerJoin('events', 'events.event_id', 'deliveries.event_id')
    .selectAll('events')
    .select(['attempts', 'failure', 'ended_at'])
    .where('state', '=', 'dead')
    .orderBy('deliveries.event_id')
    .execute();

/**
 * Replays dead letters with a full set of attempts and the same event ids: one by its event id, or all since a time.
 * Ends the pauses of their endpoints, so that they are delivered now. Those of accounts without an endpoint stay dead
 * letters. Returns the number of replayed events.
 */
export function replayDeadLetters(db: Db, which: { eventId: string } | { since: number }, now: Time): Promise<number> {
  return transaction(db, async (trx) => {
    const replayed = await trx
      .updateTable('deliveries')
      .set({ state: 'waiting', ended_at: null, attempts: 0, due_at: now })
      .where('state', '=', 'dead')
      .where('account_id', 'in', (eb) => eb.selectFrom('webhook_endpoints').select('account_id').$call(forKeyShare(db)))
      .where((eb) => ('eventId' in which ? eb('event_id', '=', which.eventId) : eb('ended_at', '>=', which.since)))
      .returning('account_id')
      .execute();
    for (const accountId of new Set(replayed.map(({ account_id }) => account_id))) await resume(trx, accountId);
    return replayed.length;
  });
}
