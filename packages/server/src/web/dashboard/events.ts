import { isoTime } from '../../base/iso-time.js';
import type { Queryable } from '../../data/db/open.js';
import type { OutboxRow } from '../../data/db/tables.js';
import { mostKept } from '../../data/webhooks/delivery-log.js';

/** Enough to see what goes on; a receiver that is down for a day may have thousands. */
const most = 100;

/**
 * Where an event stands: waits for its first attempt or for its next, was given up (a dead letter), has arrived, or was
 * dropped when the endpoint was removed.
 */
type EventState = 'waiting' | 'retrying' | 'dead' | 'delivered' | 'dropped';

type Kept = Pick<OutboxRow, 'attempts' | 'due_at' | 'dead_at' | 'last_failure'>;
type Subject = Pick<OutboxRow, 'event_id' | 'event' | 'job_id' | 'status' | 'progress' | 'created_at'>;

interface Attempt {
  response_status: number | null;
  failure: string | null;
}

function stateOf(kept: Kept | undefined, last: Attempt | undefined): EventState {
  if (!kept) return last?.failure === null ? 'delivered' : 'dropped';
  if (kept.dead_at !== null) return 'dead';
  return kept.attempts > 0 ? 'retrying' : 'waiting';
}

/** `logged`: its attempts that are still in the log, the last one first. */
function shown(subject: Subject, kept: Kept | undefined, logged: readonly Attempt[]) {
  const { event_id, event, job_id, status, progress, created_at } = subject;
  const [last] = logged;
  const state = stateOf(kept, last);
  const answered = last && last.response_status !== null ? `HTTP ${last.response_status}` : last?.failure;
  return {
    event_id,
    event,
    task_id: job_id,
    status,
    progress,
    state,
    attempts: Math.max(logged.length, kept?.attempts ?? 0),
    last_result: answered ?? kept?.last_failure ?? null,
    created_at: isoTime(created_at),
    next_attempt_at: kept && kept.dead_at === null ? isoTime(kept.due_at) : null,
  };
}

interface Which {
  /** Of one job only. */
  jobId?: string;
  /** Only what the endpoint has not received. */
  undelivered?: boolean;
}

/** The account's newest events: those that wait or were given up, and those that the log of deliveries tells of. */
export async function eventsOf(db: Queryable, accountId: string, { jobId, undelivered = false }: Which = {}) {
  // First: what is delivered between the two questions is then seen in both, and not in neither.
  let waiting = db.selectFrom('outbox').selectAll().where('account_id', '=', accountId);
  let tried = db
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
    waiting = waiting.where('job_id', '=', jobId);
    tried = tried.where('delivery.job_id', '=', jobId);
  }
  const events = new Map<string, { subject: Subject; kept: Kept | undefined; logged: Attempt[] }>();
  for (const row of await waiting.orderBy('seq', 'desc').limit(most).execute()) {
    events.set(row.event_id, { subject: row, kept: row, logged: [] });
  }
  for (const row of await tried.orderBy('delivery.id', 'desc').limit(mostKept).execute()) {
    const { attempts, due_at, dead_at, last_failure } = row;
    const kept = row.seq === null ? undefined : { attempts, due_at: due_at ?? 0, dead_at, last_failure };
    const known = events.get(row.event_id);
    if (known) known.logged.push(row);
    else events.set(row.event_id, { subject: { ...row, created_at: row.event_created_at }, kept, logged: [row] });
  }
  return [...events.values()]
    .filter(({ kept }) => kept || !undelivered)
    .sort((a, b) => (a.subject.event_id < b.subject.event_id ? 1 : -1))
    .slice(0, most)
    .map(({ subject, kept, logged }) => shown(subject, kept, logged));
}

/** The attempts at delivering one event that the log still has, the last one first. */
export async function deliveriesOf(db: Queryable, accountId: string, eventId: string) {
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
