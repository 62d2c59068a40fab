import type { Delivery, EventEntry } from '@gen3d/schema/dashboard';
import { isoTime } from '../../base/time.js';
import { quotas } from '../accounts/quotas.js';
import type { Queryable } from '../db/database.js';
import type { OutboxRow } from '../db/tables.js';

/** An account whose receiver is down may have thousands of events. */
const maxEvents = 100;

/** An event in the outbox: waiting for an attempt, or a dead letter. */
type Queued = Pick<OutboxRow, 'attempts' | 'due_at' | 'dead_at' | 'last_failure'>;
type Subject = Pick<OutboxRow, 'event_id' | 'event' | 'job_id' | 'status' | 'progress' | 'created_at'>;

/** A delivery in the log. */
interface Attempt {
  response_status: number | null;
  failure: string | null;
}

function stateOf(queued: Queued | undefined, last: Attempt | undefined): EventEntry['state'] {
  if (!queued) return last?.failure === null ? 'delivered' : 'dropped';
  if (queued.dead_at !== null) return 'dead';
  return queued.attempts > 0 ? 'retrying' : 'waiting';
}

/** `attempts` are those that are still in the log, newest first. */
function toEntry(subject: Subject, queued: Queued | undefined, attempts: readonly Attempt[]): EventEntry {
  const { event_id, event, job_id, status, progress, created_at } = subject;
  const [last] = attempts;
  const lastResult = last && last.response_status !== null ? `HTTP ${last.response_status}` : last?.failure;
  return {
    event_id,
    event,
    task_id: job_id,
    status,
    progress,
    state: stateOf(queued, last),
    attempts: Math.max(attempts.length, queued?.attempts ?? 0),
    last_result: lastResult ?? queued?.last_failure ?? null,
    created_at: isoTime(created_at),
    next_attempt_at: queued && queued.dead_at === null ? isoTime(queued.due_at) : null,
  };
}

interface EventFilter {
  /** Lists only the events of this job. */
  jobId?: string;
  /** Lists only events that the endpoint has not received. */
  undelivered?: boolean;
}

/** Lists the account's newest events: those in the outbox, and those with deliveries in the log. */
export async function listEvents(
  db: Queryable,
  accountId: string,
  { jobId, undelivered = false }: EventFilter = {},
): Promise<EventEntry[]> {
  // The outbox is read first: an event that is delivered between the two queries then appears in both, not in neither.
  let outbox = db.selectFrom('outbox').selectAll().where('account_id', '=', accountId);
  let log = db
    .selectFrom('webhook_deliveries as delivery')
    .leftJoin('outbox', 'outbox.event_id', 'delivery.event_id')
    .select((eb) => [
      'delivery.event_id',
      'delivery.event',
      'delivery.job_id',
      'delivery.status',
      'delivery.progress',
      'event_created_at',
      'response_status',
      'failure',
      'outbox.seq',
      'due_at',
      'dead_at',
      'last_failure',
      eb.fn.coalesce('outbox.attempts', eb.lit(0)).as('attempts'),
    ])
    .where('delivery.account_id', '=', accountId);
  if (jobId !== undefined) {
    outbox = outbox.where('job_id', '=', jobId);
    log = log.where('delivery.job_id', '=', jobId);
  }
  const events = new Map<string, { subject: Subject; queued: Queued | undefined; attempts: Attempt[] }>();
  for (const row of await outbox.orderBy('seq', 'desc').limit(maxEvents).execute()) {
    events.set(row.event_id, { subject: row, queued: row, attempts: [] });
  }
  for (const row of await log.orderBy('delivery.id', 'desc').limit(quotas.deliveries).execute()) {
    const { attempts, due_at, dead_at, last_failure } = row;
    const queued = row.seq === null ? undefined : { attempts, due_at: due_at ?? 0, dead_at, last_failure };
    const known = events.get(row.event_id);
    if (known) known.attempts.push(row);
    else events.set(row.event_id, { subject: { ...row, created_at: row.event_created_at }, queued, attempts: [row] });
  }
  return [...events.values()]
    .filter(({ queued }) => queued || !undelivered)
    .sort((a, b) => (a.subject.event_id < b.subject.event_id ? 1 : -1))
    .slice(0, maxEvents)
    .map(({ subject, queued, attempts }) => toEntry(subject, queued, attempts));
}

/** Lists the logged attempts to deliver an event, newest first. */
export async function listDeliveries(db: Queryable, accountId: string, eventId: string): Promise<Delivery[]> {
  const rows = await db
    .selectFrom('webhook_deliveries')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('event_id', '=', eventId)
    .orderBy('id', 'desc')
    .execute();
  return rows.map((row) => ({
    delivery_id: row.id,
    started_at: isoTime(row.started_at),
    took_ms: row.took_ms,
    request: {
      url: row.url,
      headers: JSON.parse(row.request_headers) as Record<string, string>,
      body: row.request_body,
    },
    response: row.response_status === null ? null : { status: row.response_status, body: row.response_body ?? '' },
    failure: row.failure,
  }));
}

/** Finds an event of the account in the outbox. Undefined if it is delivered or unknown. */
export async function findQueued(
  db: Queryable,
  accountId: string,
  eventId: string,
): Promise<Pick<OutboxRow, 'dead_at'> | undefined> {
  return db
    .selectFrom('outbox')
    .select('dead_at')
    .where('event_id', '=', eventId)
    .where('account_id', '=', accountId)
    .executeTakeFirst();
}
