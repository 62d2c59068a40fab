import { isTerminal } from '@gen3d/schema';
import { type Expression, type RawBuilder, sql } from 'kysely';
import { newUlid, randomToken } from '../../base/ids.js';
import type { Db, Queryable } from '../db/database.js';
import { type Parameters, prepared, rowOf } from '../db/prepared.js';
import type { JobRow, OutboxRow } from '../db/tables.js';
import { after, isUnleased, type Time } from '../db/time.js';
import { forKeyShare, forUpdateSkipLocked, transaction } from '../db/transaction.js';
import { eventIdAt, type JobState, type NewEvent, reserveEventTime } from './job-events.js';
import { isPaused, resume } from './pauses.js';

// The transactional outbox: an event is a row that is written in the transaction of the change it reports, and deleted
// once it was delivered. So no change is lost and none is invented, at the price of delivering at least once instead of
// exactly once; receivers tell repetitions by `event_id`. Events of one job are delivered in order at the first
// attempt. An account without an endpoint has no rows.

/** Locks the endpoint until the event is committed: a DELETE of the endpoint comes before the event, or drops it. */
const endpointOf = (trx: Queryable, accountId: string | Expression<string>) =>
  trx.selectFrom('webhook_endpoints').select('final_only').where('account_id', '=', accountId).$call(forKeyShare(trx));

/** Inserts an event for streams. Returns `final_only` of the account's endpoint, or null without an endpoint. */
const insertEvent = prepared((trx, parameter: Parameters<NewEvent>, given) =>
  trx
    .insertInto('job_events')
    .values(rowOf(parameter, given))
    .returning(endpointOf(trx, parameter('account_id')).as('final_only')),
);

/**
 * Records a change of a job's status or progress as an event for the streams of the account and for its
 * endpoint. Must run in the transaction that makes the change.
 *
 * @param reserved the time in the event's id, if the transaction has already reserved it
 */
export async function recordTaskUpdated(
  trx: Queryable,
  job: JobState & Pick<JobRow, 'trace_id'>,
  now: Time,
  reserved?: number,
): Promise<void> {
  const { id, account_id, status, progress, error_code, error_message, model_key, thumbnail_key, trace_id } = job;
  const event = {
    event_id: eventIdAt(reserved ?? (await reserveEventTime(trx, account_id))),
    account_id,
    job_id: id,
    status,
    progress,
    error_code,
    error_message,
    model_key,
    thumbnail_key,
    created_at: now,
  };
  const finalOnly = (await insertEvent(trx, event)).rows[0]?.final_only;
  if (finalOnly === 0 || (finalOnly === 1 && isTerminal(status))) {
    await trx
      .insertInto('outbox')
      .values({ ...event, event: 'task.updated', trace_id, due_at: now })
      .execute();
  }
}

/** Queues a ping, and ends the endpoint's pause. Returns false if the account has no endpoint. */
export async function recordPing(db: Db, accountId: string, delayMs: number, now: Time): Promise<boolean> {
  return transaction(db, async (trx) => {
    if (!(await endpointOf(trx, accountId).executeTakeFirst())) return false;
    await resume(trx, accountId);
    const event = { event_id: newUlid(), account_id: accountId, event: 'ping' as const, created_at: now };
    await trx
      .insertInto('outbox')
      .values({ ...event, due_at: after(now, delayMs) })
      .execute();
    return true;
  });
}

/** The clock and the limits that decide which events may be delivered. */
export interface DeliveryTimes {
  now: Time;
  /** Length of a lease, which is longer than a delivery can take. */
  leaseMs: number;
  /** An event that is due later than this from now got its time while the clock was ahead, and is due, too. */
  maxDelayMs: number;
}

/** Selects events that wait and that no process has leased. */
const isFree = ({ now, leaseMs }: DeliveryTimes) => sql`dead_at is null and ${isUnleased(now, sql.lit(leaseMs))}`;

/**
 * Finds the next due delivery of each account whose endpoint is not paused. The one that has waited longest is first. A
 * job's event waits until every earlier event of that job has had its first attempt. First attempts thus arrive in
 * order, and retries do not delay later events.
 *
 * Walks from account to account in the index, so the backlog of an unreachable endpoint is not read.
 */
export async function nextDue(db: Db, times: DeliveryTimes): Promise<Pick<OutboxRow, 'seq' | 'account_id'>[]> {
  // One subquery for each range of the index.
  const nextOf = (isDue: RawBuilder<boolean>) => sql`(
        select seq from outbox as event
        where account_id = waiting.account_id and ${isDue} and ${isFree(times)} and (
          attempts > 0 or job_id is null or not exists (
            select seq from outbox as earlier
            where earlier.job_id = event.job_id and earlier.seq < event.seq
              and earlier.attempts = 0 and earlier.dead_at is null
          )
        )
        order by due_at, seq limit 1
      )`;
  const { now, maxDelayMs } = times;
  const { rows } = await sql<Pick<OutboxRow, 'seq' | 'account_id'>>`
    with recursive waiting(account_id) as (
      select min(account_id) from outbox where dead_at is null
      union all
      select (select min(account_id) from outbox where dead_at is null and account_id > waiting.account_id)
      from waiting where waiting.account_id is not null
    )
    select seq, account_id from outbox where seq in (
      select coalesce(${nextOf(sql`due_at <= ${now}`)}, ${nextOf(sql`due_at > ${after(now, maxDelayMs)}`)})
      from waiting where not ${isPaused('waiting.account_id', now)}
    )
    order by due_at, seq`.execute(db);
  return rows;
}

/** Claims some of the due deliveries. Returns those that no other process claimed first. */
export async function claimDeliveries(db: Db, seqs: readonly number[], times: DeliveryTimes): Promise<OutboxRow[]> {
  const { now, leaseMs, maxDelayMs } = times;
  return db
    .updateTable('outbox')
    .set({ lease_token: randomToken(22), lease_expires_at: after(now, leaseMs) })
    .where('seq', 'in', (eb) =>
      eb
        .selectFrom('outbox')
        .select('seq')
        .where('seq', 'in', seqs)
        .where(sql<boolean>`${isFree(times)} and (due_at <= ${now} or due_at > ${after(now, maxDelayMs)})`)
        // Skipping locked rows avoids deadlocks between processes that lock them in different orders.
        .$call(forUpdateSkipLocked(db)),
    )
    .returningAll()
    .execute();
}

/** Deletes an event after its delivery succeeded. Returns whether it still existed. */
export async function settle(db: Queryable, { seq, lease_token }: OutboxRow): Promise<boolean> {
  const event = db.deleteFrom('outbox').where('seq', '=', seq).where('lease_token', '=', lease_token);
  return (await event.executeTakeFirstOrThrow()).numDeletedRows > 0n;
}

/**
 * Records a failed delivery. It is due again at `retryAt`, or becomes a dead letter if that is undefined. An event that a
 * DELETE of the endpoint or of its job dropped meanwhile stays dropped. Returns whether it still existed.
 */
export async function postpone(
  db: Queryable,
  { seq, lease_token, attempts }: OutboxRow,
  failure: string,
  retryAt: Time | undefined,
  now: Time,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('outbox')
    .set({
      attempts: attempts + 1,
      last_failure: failure,
      lease_token: null,
      lease_expires_at: null,
      ...(retryAt === undefined ? { dead_at: now } : { due_at: retryAt }),
    })
    .where('seq', '=', seq)
    .where('lease_token', '=', lease_token)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

/** Drops all waiting events of an account. Dead letters stay for the operator. */
export async function dropWaiting(trx: Queryable, accountId: string): Promise<void> {
  await trx.deleteFrom('outbox').where('account_id', '=', accountId).where('dead_at', 'is', null).execute();
}

/** Counts the events waiting for delivery, and the dead letters. */
export async function outboxCounts(db: Queryable): Promise<{ waiting: number; dead: number }> {
  const count = async (isDead: boolean) => {
    const row = await db
      .selectFrom('outbox')
      .select((eb) => eb.fn.countAll<number>().as('count'))
      .where('dead_at', isDead ? 'is not' : 'is', null)
      .executeTakeFirstOrThrow();
    return row.count;
  };
  return { waiting: await count(false), dead: await count(true) };
}
