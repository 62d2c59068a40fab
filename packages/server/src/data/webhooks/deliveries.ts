import { type RawBuilder, sql } from 'kysely';
import { randomToken } from '../../base/ids.js';
import type { Db, Queryable } from '../db/database.js';
import type { DeliveryRow } from '../db/tables.js';
import { after, isUnleased, type Time } from '../db/time.js';
import { forUpdateSkipLocked } from '../db/transaction.js';
import { isPaused } from './pauses.js';

// The events to post to endpoints, each with the state of its delivery and its last attempt. A delivery is written with
// its event, and an event is delivered at least once instead of exactly once; receivers tell repetitions by `event_id`.
// Events of one job are delivered in order at the first attempt. An account without an endpoint has no deliveries.

/** The clock and the limits that decide which events may be delivered. */
export interface DeliveryTimes {
  now: Time;
  /** Length of a lease, which is longer than a delivery can take. */
  leaseMs: number;
  /** An event is also due if its time is further ahead than this: the clock was ahead when the time was set. */
  maxDelayMs: number;
}

/** A literal, to match the partial index. */
export const isWaiting = sql.lit('waiting' as const);

/** Selects events that wait and that no process has leased. */
const isFree = ({ now, leaseMs }: DeliveryTimes) => sql`state = 'waiting' and ${isUnleased(now, sql.lit(leaseMs))}`;

/**
 * Finds the next due delivery of each account whose endpoint is not paused. The one that has waited longest is first. A
 * job's event waits until every earlier event of that job has had its first attempt. First attempts thus arrive in
 * order, and retries do not delay later events.
 *
 * Walks from account to account in the index, so the backlog of an unreachable endpoint is not read.
 */
export async function nextDue(db: Db, times: DeliveryTimes): Promise<Pick<DeliveryRow, 'event_id' | 'account_id'>[]> {
  // One subquery for each range of the index.
  const nextOf = (isDue: RawBuilder<boolean>) => sql`(
        select event_id from deliveries
        where account_id = waiting.account_id and ${isDue} and ${isFree(times)} and (
          attempts > 0 or not exists (
            select 1 from events as event
            join events as earlier on earlier.job_id = event.job_id and earlier.event_id < event.event_id
            join deliveries as first on first.event_id = earlier.event_id
            where event.event_id = deliveries.event_id and first.attempts = 0 and first.state = 'waiting'
          )
        )
        order by due_at, event_id limit 1
      )`;
  const { now, maxDelayMs } = times;
  const { rows } = await sql<Pick<DeliveryRow, 'event_id' | 'account_id'>>`
    with recursive waiting(account_id) as (
      select min(account_id) from deliveries where state = 'waiting'
      union all
      select (select min(account_id) from deliveries where state = 'waiting' and account_id > waiting.account_id)
      from waiting where waiting.account_id is not null
    )
    select event_id, account_id from deliveries where event_id in (
      select coalesce(${nextOf(sql`due_at <= ${now}`)}, ${nextOf(sql`due_at > ${after(now, maxDelayMs)}`)})
      from waiting where not ${isPaused('waiting.account_id', now)}
    )
    order by due_at, event_id`.execute(db);
  return rows;
}

/** A delivery under a lease, which entitles a process to one attempt. */
export type ClaimedDelivery = Pick<DeliveryRow, 'event_id' | 'account_id' | 'attempts' | 'lease_token'>;

/** Claims some of the due deliveries. Returns those that no other process claimed first. */
export async function claimDeliveries(
  db: Db,
  eventIds: readonly string[],
  times: DeliveryTimes,
): Promise<ClaimedDelivery[]> {
  const { now, leaseMs, maxDelayMs } = times;
  return db
    .updateTable('deliveries')
    .set({ lease_token: randomToken(22), lease_expires_at: after(now, leaseMs) })
    .where('event_id', 'in', (eb) =>
      eb
        .selectFrom('deliveries')
        .select('event_id')
        .where('event_id', 'in', eventIds)
        .where(sql<boolean>`${isFree(times)} and (due_at <= ${now} or due_at > ${after(now, maxDelayMs)})`)
        // An attempt that failed since `nextDue` may have paused the endpoint.
        .where(sql<boolean>`not ${isPaused('deliveries.account_id', now)}`)
        // Skipping locked rows avoids deadlocks between processes that lock them in different orders.
        .$call(forUpdateSkipLocked(db)),
    )
    .returning(['event_id', 'account_id', 'attempts', 'lease_token'])
    .execute();
}

/** One attempt at a delivery. Its failure is null if it succeeded. */
export type Attempt = {
  [Name in 'url' | 'request_headers' | 'started_at' | 'took_ms']: NonNullable<DeliveryRow[Name]>;
} & Pick<DeliveryRow, 'response_status' | 'response_body' | 'failure'>;

/**
 * Ends a claimed delivery's attempt. One that failed is due again at `retryAt`, or becomes a dead letter if that is
 * undefined. A delivery that a DELETE of the endpoint or of its job ended meanwhile stays as it is.
 */
export async function endAttempt(
  trx: Queryable,
  { event_id, lease_token, attempts }: ClaimedDelivery,
  attempt: Attempt,
  retryAt: Time | undefined,
  now: Time,
): Promise<void> {
  const end = { state: attempt.failure === null ? ('delivered' as const) : ('dead' as const), ended_at: now };
  await trx
    .updateTable('deliveries')
    .set({ ...attempt, attempts: attempts + 1, lease_token: null, lease_expires_at: null })
    .set(retryAt === undefined ? end : { due_at: retryAt })
    .where('event_id', '=', event_id)
    .where('lease_token', '=', lease_token)
    .execute();
}

/** Drops all waiting deliveries of an account. Dead letters stay for the operator. */
export async function dropWaiting(trx: Queryable, accountId: string, now: Time): Promise<void> {
  await trx
    .updateTable('deliveries')
    .set({ state: 'dropped', ended_at: now, lease_token: null })
    .where('account_id', '=', accountId)
    .where('state', '=', isWaiting)
    .execute();
}

/** Counts the deliveries that wait, and the dead letters. */
export async function countDeliveries(db: Queryable): Promise<{ waiting: number; dead: number }> {
  const rows = await db
    .selectFrom('deliveries')
    .select((eb) => ['state', eb.fn.countAll<number>().as('count')])
    .where('state', 'in', ['waiting', 'dead'])
    .groupBy('state')
    .execute();
  const countOf = (wanted: string) => rows.find(({ state }) => state === wanted)?.count ?? 0;
  return { waiting: countOf('waiting'), dead: countOf('dead') };
}
