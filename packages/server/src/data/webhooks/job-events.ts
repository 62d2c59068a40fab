import { type Expression, sql } from 'kysely';
import { encodeTime } from 'ulid';
import { newUlid } from '../../base/ids.js';
import { dayMs } from '../../base/time.js';
import { quotas } from '../accounts/quotas.js';
import { deleteInBatches } from '../db/bounds.js';
import { type Db, kindOf, type Queryable } from '../db/database.js';
import { type Parameters, prepared } from '../db/prepared.js';
import type { JobEventRow, JobRow } from '../db/tables.js';
import type { Time } from '../db/time.js';
import { forUpdateSkipLocked } from '../db/transaction.js';

// The log of an account's events, which streams read (web/routes/events.ts). Every change of a job is one row,
// whether or not the account has a webhook endpoint. The ids of an account's events grow in the order in which their
// transactions commit, because each transaction locks the account's row until it ends. A reader that continues after
// an id therefore misses nothing and gets nothing twice. The newest 10,000 events of a day are kept.

const keptMs = dayMs;

/** The state of a job that an event reports. */
export type JobState = Pick<
  JobRow,
  'id' | 'account_id' | 'status' | 'progress' | 'error_code' | 'error_message' | 'model_key' | 'thumbnail_key'
>;

/**
 * Returns an expression for the time in the id of an account's next event: now, or just after the last event's. Store
 * it in `accounts.last_event_at`, which also locks the account's row.
 */
export const nextEventTime = (trx: Queryable, now: Expression<number>) =>
  sql<number>`${sql.raw(kindOf(trx).greatest)}(last_event_at + 1, ${now})`;

const reservedTime = prepared((trx, parameter: Parameters<{ accountId: string; now: number }>) =>
  trx
    .updateTable('accounts')
    .set({ last_event_at: nextEventTime(trx, parameter('now')) })
    .where('id', '=', parameter('accountId'))
    .returning('last_event_at as time'),
);

/** Reserves the time in the id of an account's next event. Must run in the transaction that inserts the event. */
export async function reserveEventTime(trx: Queryable, accountId: string): Promise<number> {
  const { rows } = await reservedTime(trx, { accountId, now: Date.now() });
  if (!rows[0]) throw new Error(`Account ${accountId} does not exist`);
  return rows[0].time;
}

/** Makes the id of an event from its reserved time. */
export const eventIdAt = (time: number): string => encodeTime(time) + newUlid().slice(10);

export type NewEvent = Omit<JobEventRow, 'created_at'> & { created_at: Time };

/** Returns an id that is greater than those of all events that an account has. */
export async function endOfEvents(db: Queryable, accountId: string): Promise<string> {
  const account = db.selectFrom('accounts').select('last_event_at').where('id', '=', accountId);
  return encodeTime((await account.executeTakeFirstOrThrow()).last_event_at + 1);
}

export interface EventRange {
  /** Reads only events of this job. */
  jobId?: string | undefined;
  /** Reads only events with a greater id. */
  after: string;
}

export const maxEventsRead = 100;

/** Reads the account's next events, at most 100, in the order in which they were committed. */
export async function readEvents(
  db: Queryable,
  accountId: string,
  { jobId, after }: EventRange,
): Promise<JobEventRow[]> {
  return db
    .selectFrom('job_events')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('event_id', '>', after)
    .$if(jobId !== undefined, (query) => query.where('job_id', '=', jobId ?? ''))
    .orderBy('event_id')
    .limit(maxEventsRead)
    .execute();
}

/** Tells whether an account has new events. */
export interface EventState {
  id: string;
  /** The time in the id of the last event. */
  last_event_at: number;
}

/** Reads the states of these accounts in one query. Deleted accounts have none. */
export const readEventStates = (db: Queryable, accountIds: readonly string[]): Promise<EventState[]> =>
  db
    .selectFrom('accounts')
    .select(['id', 'last_event_at'])
    .where('id', 'in', accountIds)
    .where('deleted_at', 'is', null)
    .execute();

/** Deletes the oldest events of accounts that have too many. */
export async function limitJobEvents(db: Db, now: number, max: number = quotas.events): Promise<void> {
  const accounts = await db
    .selectFrom('accounts')
    .select('id')
    .where('last_event_at', '>', now - keptMs)
    .execute();
  for (const { id } of accounts) {
    const events = db.selectFrom('job_events').where('account_id', '=', id);
    const beyond = events.select('event_id').orderBy('event_id', 'desc').limit(1).offset(max);
    const last = await beyond.executeTakeFirst();
    if (!last) continue;
    const excess = db.selectFrom('job_events').where('account_id', '=', id).where('event_id', '<=', last.event_id);
    await deleteInBatches(db, 'job_events', 'event_id', excess.$call(forUpdateSkipLocked(db)));
  }
}

/** Deletes events older than a day. */
export async function deleteOldJobEvents(db: Db, now: number): Promise<void> {
  const old = db.selectFrom('job_events').where('event_id', '<', encodeTime(Math.max(0, now - keptMs)));
  await deleteInBatches(db, 'job_events', 'event_id', old.$call(forUpdateSkipLocked(db)));
}
