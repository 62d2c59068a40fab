import { limits } from '@gen3d/schema';
import type { Logger } from 'pino';
import { decodeTime, encodeTime } from 'ulid';
import { dayMs, isoTime } from '../../base/time.js';
import { quotas } from '../accounts/quotas.js';
import { deleteInBatches } from '../db/bounds.js';
import type { Db } from '../db/database.js';
import { readTime } from '../db/time.js';
import { forUpdateSkipLocked } from '../db/transaction.js';

/** Retention of the public test key's jobs, which the contract does not specify. */
const sandboxRetentionDays = 1;

/**
 * Deletes the records of jobs past their retention time. It is shorter for the sandbox, where anyone can create jobs,
 * and ends early for all but its newest jobs. Files stay, because asset URLs are permanent. Returns the number of
 * deleted records.
 */
export async function deleteOldJobs(db: Db, now: number, maxSandboxJobs: number = quotas.sandboxJobs): Promise<number> {
  const { id } = (await db.selectFrom('accounts').select('id').where('sandbox', '=', 1).executeTakeFirst()) ?? {};
  let deleted = await deleteBefore(db, now - limits.taskRetentionDays * dayMs);
  if (id === undefined) return deleted;
  const oldestKept = await db
    .selectFrom('jobs')
    .select('created_at')
    .where('account_id', '=', id)
    .orderBy('id', 'desc')
    .limit(1)
    .offset(maxSandboxJobs - 1)
    .executeTakeFirst();
  deleted += await deleteBefore(db, Math.max(now - sandboxRetentionDays * dayMs, oldestKept?.created_at ?? 0), id);
  return deleted;
}

function deleteBefore(db: Db, time: number, accountId?: string): Promise<number> {
  const old = db
    .selectFrom('jobs')
    .$if(accountId !== undefined, (query) => query.where('account_id', '=', accountId ?? ''))
    // An id starts with its creation time, so an index finds the old ones.
    .where('id', '<', encodeTime(Math.max(time, 0)))
    // The creation time may be wrong, for example from a machine without a clock battery.
    .where('finished_at', '<', time);
  return deleteInBatches(db, 'jobs', 'id', old.$call(forUpdateSkipLocked(db)));
}

/** A clock that moved further than this since the last deletion of old records is not trusted. */
const maxStepMs = 3 * dayMs;
/** A clock that jumped is trusted after this: the machine may have been off. Until then the operator can correct it. */
const doubtMs = dayMs;

/**
 * Returns the current time on the database's clock, for deleting old records. Undefined while the clock is not trusted,
 * because it has jumped by days since the last deletion: a clock that is 90 days ahead would delete every record. It is
 * trusted again once it is back, or has run for another day.
 */
export async function retentionTime(db: Db, log: Logger, read = () => readTime(db)): Promise<number | undefined> {
  const now = await read();
  const kept = await db.selectFrom('clean_up').select(['last_at', 'doubted_at']).executeTakeFirst();
  const last = kept?.last_at ?? (await newestJobTime(db)) ?? now;
  const doubtedAt = kept?.doubted_at ?? null;
  const isSteady = Math.abs(now - last) <= maxStepMs || (doubtedAt !== null && now - doubtedAt >= doubtMs);
  const since = isSteady ? null : doubtedAt === null || now < doubtedAt ? now : doubtedAt;
  const next = { last_at: isSteady ? now : last, doubted_at: since };
  await db
    .insertInto('clean_up')
    .values({ id: 1, ...next })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(next))
    .execute();
  if (since === null) return now;
  if (since === now) {
    log.warn(
      { now: isoTime(now), last: isoTime(last), believedAt: isoTime(since + doubtMs) },
      'the clock has jumped by days since old records were last deleted, so none are deleted for a day; check the date of this machine, or of the PostgreSQL server',
    );
  }
  return undefined;
}

/** Returns when the newest job was created. Undefined without jobs. */
async function newestJobTime(db: Db): Promise<number | undefined> {
  const row = await db.selectFrom('jobs').select('id').orderBy('id', 'desc').limit(1).executeTakeFirst();
  return row && decodeTime(row.id);
}
