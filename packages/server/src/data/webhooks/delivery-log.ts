import { limits } from '@gen3d/schema';
import { encodeTime } from 'ulid';
import { newUlid } from '../../base/ids.js';
import { dayMs } from '../../base/time.js';
import { quotas } from '../accounts/quotas.js';
import { deleteInBatches } from '../db/bounds.js';
import type { Db, Queryable } from '../db/database.js';
import type { OutboxRow } from '../db/tables.js';
import { forUpdateSkipLocked } from '../db/transaction.js';

const keptMs = limits.deadLetterDays * dayMs;

/** One attempt at a delivery: the request and the response. */
export interface Exchange {
  url: string;
  /** Includes the signature, which does not reveal the secret. */
  requestHeaders: Readonly<Record<string, string>>;
  requestBody: string;
  /** Null without a response. */
  responseStatus: number | null;
  /** The start of the response body; null without a response. */
  responseBody: string | null;
  /** Why the attempt failed; null if it succeeded. */
  failure: string | null;
  /** Milliseconds since 1970. */
  startedAt: number;
  /** How long it took until the response's status arrived, or the attempt failed. */
  tookMs: number;
}

/** Logs an attempt for the account's users, and deletes the oldest one beyond the limit. */
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
        .offset(quotas.deliveries),
    )
    .execute();
}

/** Deletes attempts older than the retention time of dead letters. */
export async function deleteOldDeliveries(db: Db, now: number): Promise<void> {
  const old = db
    .selectFrom('webhook_deliveries')
    // An id starts with its creation time, so the primary key finds the old ones.
    .where('id', '<', encodeTime(Math.max(now - keptMs, 0)));
  await deleteInBatches(db, 'webhook_deliveries', 'id', old.$call(forUpdateSkipLocked(db)));
}
