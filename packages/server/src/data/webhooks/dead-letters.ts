import { limits } from '@gen3d/schema';
import { dayMs } from '../../base/time.js';
import { inBatches } from '../db/in-batches.js';
import { forKeyShare, forUpdateSkipLocked } from '../db/locks.js';
import type { Db } from '../db/open.js';
import type { OutboxRow } from '../db/tables.js';
import type { Time } from '../db/time.js';

const keptMs = limits.deadLetterDays * dayMs;

/** Events whose every delivery failed, oldest first. */
export async function listDeadLetters(db: Db): Promise<OutboxRow[]> {
  return db.selectFrom('outbox').selectAll().where('dead_at', 'is not', null).orderBy('seq').execute();
}

/**
 * Replays dead letters with a full set of attempts and the same event ids: one by its event id, or all since a time. Those
 * of accounts without an endpoint stay dead letters. Returns the number of replayed events.
 */
export async function replayDeadLetters(
  db: Db,
  which: { eventId: string } | { since: number },
  now: Time,
): Promise<number> {
  const { numUpdatedRows } = await db
    .updateTable('outbox')
    .set({ dead_at: null, attempts: 0, due_at: now })
    .where('dead_at', 'is not', null)
    .where('account_id', 'in', (eb) => eb.selectFrom('webhook_endpoints').select('account_id').$call(forKeyShare(db)))
    .where((eb) => ('eventId' in which ? eb('event_id', '=', which.eventId) : eb('dead_at', '>=', which.since)))
    .executeTakeFirstOrThrow();
  return Number(numUpdatedRows);
}

/** Deletes the dead letters past their retention time. */
export async function deleteOldDeadLetters(db: Db, now: number): Promise<void> {
  await inBatches((limit) =>
    db
      .deleteFrom('outbox')
      .where('seq', 'in', (eb) =>
        eb
          .selectFrom('outbox')
          .select('seq')
          .where('dead_at', '<', now - keptMs)
          .limit(limit)
          .$call(forUpdateSkipLocked(db)),
      )
      .executeTakeFirstOrThrow(),
  );
}
