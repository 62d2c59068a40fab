import { limits } from '@gen3d/schema';
import { encodeTime } from 'ulid';
import { newUlid } from '../../base/ids.js';
import { dayMs } from '../../base/time.js';
import { inBatches } from '../db/in-batches.js';
import { forUpdateSkipLocked } from '../db/locks.js';
import type { Db, Queryable } from '../db/open.js';
import type { OutboxRow } from '../db/tables.js';

/** Of each account, however many it makes. A job makes about ten. */
export const mostKept = 500;
const keptMs = limits.deadLetterDays * dayMs;

/** One attempt at a delivery: what was sent, and what came back. */
export interface Exchange {
  url: string;
  /** With the signature, which tells nothing of the secret. */
  requestHeaders: Readonly<Record<string, string>>;
  requestBody: string;
  /** Null when no answer came. */
  responseStatus: number | null;
  /** How the answer's body begins; null when no answer came. */
  responseBody: string | null;
  /** Why the attempt counts as failed, in words; null when it succeeded. */
  failure: string | null;
  /** Milliseconds since 1970. */
  startedAt: number;
  /** Until the answer's status, or until the attempt failed. */
  tookMs: number;
}

/** Writes an attempt down for the account's people, and forgets the one that is now too many. */
export async function logDelivery(trx: Queryable, event: OutboxRow, exchange: Exchange): Promise<void> {
  const { account_id } = event;
  await trx
    .insertInto('webhook_deliveries')
    .values({
      id: newUlid(),
      account_id,
      event_id: event.event_id,
      event: event.event,
      job_id: event.job_id,
      status: event.status,
      progress: event.progress,
      event_created_at: event.created_at,
      url: exchange.url,
      request_headers: JSON.stringify(exchange.requestHeaders),
      request_body: exchange.requestBody,
      response_status: exchange.responseStatus,
      response_body: exchange.responseBody,
      failure: exchange.failure,
      started_at: exchange.startedAt,
      took_ms: Math.round(exchange.tookMs),
    })
    .execute();
  await trx
    .deleteFrom('webhook_deliveries')
    .where('account_id', '=', account_id)
    .where('id', '<=', (eb) =>
      eb
        .selectFrom('webhook_deliveries')
        .select('id')
        .where('account_id', '=', account_id)
        .orderBy('id', 'desc')
        .limit(1)
        .offset(mostKept),
    )
    .execute();
}

/** Deletes what has been kept as long as a dead letter is. */
export async function deleteOldDeliveries(db: Db, now: number): Promise<void> {
  await inBatches((limit) =>
    db
      .deleteFrom('webhook_deliveries')
      .where('id', 'in', (eb) =>
        eb
          .selectFrom('webhook_deliveries')
          .select('id')
          // An id starts with its time of creation, so the primary key finds the old ones.
          .where('id', '<', encodeTime(Math.max(now - keptMs, 0)))
          .limit(limit)
          .$call(forUpdateSkipLocked(db)),
      )
      .executeTakeFirstOrThrow(),
  );
}
