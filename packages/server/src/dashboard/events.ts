import type { Queryable } from '../db/open.js';
import type { OutboxRow } from '../db/tables.js';
import { isoTime } from '../jobs/iso-time.js';

const columns = [
  'event_id',
  'event',
  'job_id',
  'status',
  'progress',
  'attempts',
  'last_failure',
  'created_at',
  'due_at',
  'dead_at',
] as const satisfies readonly (keyof OutboxRow)[];

/** Enough to see what goes on; a receiver that is down for a day may have thousands. */
const most = 100;

/** An event that the outbox still keeps: it waits for its first or its next delivery, or is a dead letter. */
function shown(row: Pick<OutboxRow, (typeof columns)[number]>) {
  const { event_id, event, job_id, status, progress, attempts, last_failure, created_at, due_at, dead_at } = row;
  return {
    event_id,
    event,
    task_id: job_id,
    status,
    progress,
    attempts,
    last_failure,
    created_at: isoTime(created_at),
    next_attempt_at: dead_at === null ? isoTime(due_at) : null,
    dead_at: dead_at === null ? null : isoTime(dead_at),
  };
}

const newest = (db: Queryable, accountId: string) =>
  db.selectFrom('outbox').select(columns).where('account_id', '=', accountId).orderBy('seq', 'desc').limit(most);

/** The account's newest events that are not delivered. */
export async function eventsOfAccount(db: Queryable, accountId: string) {
  return (await newest(db, accountId).execute()).map(shown);
}

/** Those of one job. */
export async function eventsOfJob(db: Queryable, accountId: string, jobId: string) {
  return (await newest(db, accountId).where('job_id', '=', jobId).execute()).map(shown);
}
