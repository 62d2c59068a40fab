import { isTerminal } from '@gen3d/schema';
import { type Expression, type NotNull, sql } from 'kysely';
import { encodeTime } from 'ulid';
import { newUlid } from '../../base/ids.js';
import { compiledOnce, type Parameters, rowOf } from '../db/compiled-once.js';
import type { Db, Queryable } from '../db/database.js';
import type { EventRow, JobEventRow, JobRow } from '../db/tables.js';
import { after, type Time } from '../db/time.js';
import { forKeyShare, transaction } from '../db/transaction.js';
import { resume } from './pauses.js';

// The log of an account's events, which streams read (web/routes/events.ts) and deliveries.ts sends. Every change of a
// job is one row, written in the transaction of the change, whether or not the account has a webhook endpoint: so no
// change is lost and none is invented. The ids of an account's events grow in the order in which their transactions
// commit, because each transaction locks the account's row until it ends. A reader that continues after an id therefore
// misses nothing and gets nothing twice.

/** The state of a job that an event reports. */
type JobState = Pick<
  JobRow,
  'id' | 'account_id' | 'status' | 'progress' | 'error_code' | 'error_message' | 'model_key' | 'thumbnail_key'
>;

/**
 * Returns an expression for the time in the id of an account's next event: now, or just after the last event's. Store
 * it in `accounts.last_event_at`, which also locks the account's row.
 */
export const nextEventTime = (now: Expression<number>) =>
  sql<number>`case when last_event_at >= ${now} then last_event_at + 1 else ${now} end`;

const reservedTime = compiledOnce((trx, parameter: Parameters<{ accountId: string; now: number }>) =>
  trx
    .updateTable('accounts')
    .set({ last_event_at: nextEventTime(parameter('now')) })
    .where('id', '=', parameter('accountId'))
    .returning('last_event_at as time'),
);

/** Reserves the time in the id of an account's next event. Must run in the transaction that inserts the event. */
async function reserveEventTime(trx: Queryable, accountId: string): Promise<number> {
  const { rows } = await reservedTime(trx, { accountId, now: Date.now() });
  if (!rows[0]) throw new Error(`Account ${accountId} does not exist`);
  return rows[0].time;
}

/** Makes the id of an event from its reserved time. */
export const eventIdAt = (time: number): string => encodeTime(time) + newUlid().slice(10);

type NewEvent = Partial<Omit<EventRow, 'created_at'>> &
  Pick<EventRow, 'event_id' | 'account_id' | 'event'> & { created_at: Time };

/** Locks the endpoint until the event is committed, so that a DELETE of it comes before the event, or drops it. */
const endpointOf = (trx: Queryable, accountId: string | Expression<string>) =>
  trx.selectFrom('webhook_endpoints').select('final_only').where('account_id', '=', accountId).$call(forKeyShare(trx));

/** Inserts an event. Returns `final_only` of the account's endpoint, or null without an endpoint. */
const insertEvent = compiledOnce((trx, parameter: Parameters<NewEvent>, given) =>
  trx
    .insertInto('events')
    .values(rowOf(parameter, given))
    .returning(endpointOf(trx, parameter('account_id')).as('final_only')),
);

/**
 * Records a change of a job's status or progress as an event for the streams of the account and for its endpoint. Must
 * run in the transaction that makes the change.
 *
 * @param reserved the time in the event's id, if the transaction has already reserved it
 */
export async function recordTaskUpdated(trx: Queryable, job: JobState, now: Time, reserved?: number): Promise<void> {
  const { id, account_id, status, progress, error_code, error_message, model_key, thumbnail_key } = job;
  const event_id = eventIdAt(reserved ?? (await reserveEventTime(trx, account_id)));
  const state = { job_id: id, status, progress, error_code, error_message, model_key, thumbnail_key };
  const event = { event_id, account_id, event: 'task.updated' as const, ...state, created_at: now };
  const finalOnly = (await insertEvent(trx, event)).rows[0]?.final_only;
  if (finalOnly === 0 || (finalOnly === 1 && isTerminal(status))) {
    await addDelivery(trx, event, now);
  }
}

/** Records a ping, and ends the endpoint's pause. Returns false if the account has no endpoint. */
export async function recordPing(db: Db, accountId: string, delayMs: number, now: Time): Promise<boolean> {
  return transaction(db, async (trx) => {
    const event = { event_id: eventIdAt(await reserveEventTime(trx, accountId)), account_id: accountId };
    if (!(await endpointOf(trx, accountId).executeTakeFirst())) return false;
    await resume(trx, accountId);
    await insertEvent(trx, { ...event, event: 'ping', created_at: now });
    await addDelivery(trx, event, after(now, delayMs));
    return true;
  });
}

const addDelivery = (
  trx: Queryable,
  { event_id, account_id }: Pick<EventRow, 'event_id' | 'account_id'>,
  dueAt: Time,
) => trx.insertInto('deliveries').values({ event_id, account_id, due_at: dueAt }).execute();

/** Returns an id that is greater than those of all events that an account has. */
export async function endOfEvents(db: Queryable, accountId: string): Promise<string> {
  const account = db.selectFrom('accounts').select('last_event_at').where('id', '=', accountId);
  return encodeTime((await account.executeTakeFirstOrThrow()).last_event_at + 1);
}

interface EventRange {
  /** Reads only events of this job. */
  jobId?: string | undefined;
  /** Reads only events with a greater id. */
  after: string;
}

export const maxEventsRead = 100;

/** Reads the account's next events about jobs, at most 100, in the order in which they were committed. */
export async function readEvents(
  db: Queryable,
  accountId: string,
  { jobId, after }: EventRange,
): Promise<JobEventRow[]> {
  return db
    .selectFrom('events')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('event_id', '>', after)
    .where('event', '=', 'task.updated')
    .$if(jobId !== undefined, (query) => query.where('job_id', '=', jobId ?? ''))
    .orderBy('event_id')
    .limit(maxEventsRead)
    .$narrowType<{ job_id: NotNull; status: NotNull; progress: NotNull }>()
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
