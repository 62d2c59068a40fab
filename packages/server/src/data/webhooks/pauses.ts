import { sql } from 'kysely';
import { dayMs } from '../../base/time.js';
import type { Queryable } from '../db/database.js';
import { after, isAhead, type Time } from '../db/time.js';

// An endpoint whose every delivery has failed for a day is paused for an eighth of that time: 3 hours, later up to a
// day. After each pause, one event is tried. A success ends the failure, and all waiting events are delivered.

const failingMs = dayMs;
const maxPauseMs = dayMs;

/** Records the outcome of a delivery, and pauses an endpoint that has failed for a day. */
export async function noteOutcome(trx: Queryable, accountId: string, succeeded: boolean, now: Time): Promise<void> {
  const endpoint = trx.updateTable('webhook_endpoints').where('account_id', '=', accountId);
  if (succeeded) {
    const change = { failing_since: null, paused_until: null };
    await endpoint.set(change).where('failing_since', 'is not', null).execute();
    return;
  }
  const time = sql<number>`cast(${now} as bigint)`;
  const failedMs = sql<number>`(${time} - failing_since)`;
  const pausedUntil = sql<number | null>`case
    when ${failedMs} >= ${sql.lit(8 * maxPauseMs)} then ${after(time, maxPauseMs)}
    when ${failedMs} >= ${sql.lit(failingMs)} then ${time} + ${failedMs} / 8 end`;
  await endpoint.set({ failing_since: sql`coalesce(failing_since, ${time})`, paused_until: pausedUntil }).execute();
}

/** Ends the pause of an endpoint, so that one event is tried now. */
export async function resume(trx: Queryable, accountId: string): Promise<void> {
  await trx
    .updateTable('webhook_endpoints')
    .set({ paused_until: null })
    .where('account_id', '=', accountId)
    .where('paused_until', 'is not', null)
    .execute();
}

/** Returns those of the accounts whose endpoint failed the last delivery. */
export async function failingEndpoints(db: Queryable, accountIds: readonly string[]): Promise<ReadonlySet<string>> {
  if (accountIds.length === 0) return new Set();
  const rows = await db
    .selectFrom('webhook_endpoints')
    .select('account_id')
    .where('account_id', 'in', accountIds)
    .where('failing_since', 'is not', null)
    .execute();
  return new Set(rows.map(({ account_id }) => account_id));
}

/** Whether the endpoint of an account is paused. */
export const isPaused = (accountId: string, now: Time) => sql<boolean>`exists (
  select 1 from webhook_endpoints where account_id = ${sql.ref(accountId)} and ${isPauseAhead(now)})`;

/** Whether the pause in a row of `webhook_endpoints` has not ended. */
export const isPauseAhead = (now: Time) => isAhead('paused_until', now, sql.lit(maxPauseMs));
