import type { Delivery, EventEntry } from '@gen3d/schema/dashboard';
import { isoTime } from '../../base/time.js';
import type { Queryable } from '../db/database.js';
import type { DeliveryRow, EventRow } from '../db/tables.js';

// Deliveries as people see them.

/** An account whose receiver is down may have thousands of events. */
const maxEvents = 100;

const deliveriesOf = (db: Queryable, accountId: string) =>
  db
    .selectFrom('deliveries')
    .innerJoin('events', 'events.event_id', 'deliveries.event_id')
    .selectAll(['deliveries', 'events'])
    .where('deliveries.account_id', '=', accountId);

function toEntry(row: DeliveryRow & EventRow): EventEntry {
  const { event_id, event, job_id, status, progress, state, attempts, response_status, failure } = row;
  const isWaiting = state === 'waiting';
  return {
    event_id,
    event,
    task_id: job_id,
    status,
    progress,
    state: isWaiting && attempts > 0 ? 'retrying' : state,
    attempts,
    last_result: response_status === null ? failure : `HTTP ${response_status}`,
    created_at: isoTime(row.created_at),
    next_attempt_at: isWaiting ? isoTime(row.due_at) : null,
  };
}

interface EventFilter {
  /** Lists only the events of this job. */
  jobId?: string;
  /** Lists only events that the endpoint has not received. */
  undelivered?: boolean;
}

/** Lists the account's newest events for its endpoint. */
export async function listEvents(
  db: Queryable,
  accountId: string,
  { jobId, undelivered = false }: EventFilter = {},
): Promise<EventEntry[]> {
  let query = deliveriesOf(db, accountId);
  if (jobId !== undefined) query = query.where('job_id', '=', jobId);
  if (undelivered) query = query.where('state', 'in', ['waiting', 'dead']);
  return (await query.orderBy('deliveries.event_id', 'desc').limit(maxEvents).execute()).map(toEntry);
}

/** Finds an event of the account for its endpoint. */
export const findDelivery = (
  db: Queryable,
  accountId: string,
  eventId: string,
): Promise<(DeliveryRow & EventRow) | undefined> =>
  deliveriesOf(db, accountId).where('deliveries.event_id', '=', eventId).executeTakeFirst();

/** Builds the last attempt of a delivery. Null before the first. */
export function lastAttempt(row: DeliveryRow, body: string): Delivery | null {
  const { url, request_headers, started_at, took_ms, response_status, response_body, failure } = row;
  if (url === null || request_headers === null || started_at === null || took_ms === null) return null;
  return {
    started_at: isoTime(started_at),
    took_ms,
    request: { url, headers: JSON.parse(request_headers) as Record<string, string>, body },
    response: response_status === null ? null : { status: response_status, body: response_body ?? '' },
    failure,
  };
}
