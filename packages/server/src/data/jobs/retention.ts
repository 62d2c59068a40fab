import { limits } from '@gen3d/schema';
import { encodeTime } from 'ulid';
import { dayMs } from '../../base/time.js';
import { quotas } from '../accounts/quotas.js';
import { inBatches } from '../db/bounds.js';
import type { Db } from '../db/database.js';
import { forUpdateSkipLocked } from '../db/locks.js';

/** Retention of the public test key's jobs, which the contract does not specify. */
export const sandboxRetentionDays = 1;

/**
 * Deletes the records of jobs past their retention time. It is shorter for the sandbox, where anyone can create jobs, and
 * ends early for all but its newest jobs. Files stay, because asset URLs are permanent. Returns the number of deleted
 * records.
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
  return inBatches((limit) =>
    db
      .deleteFrom('jobs')
      .where('id', 'in', (eb) =>
        eb
          .selectFrom('jobs')
          .select('id')
          .$if(accountId !== undefined, (query) => query.where('account_id', '=', accountId ?? ''))
          // An id starts with its creation time, so an index finds the old ones.
          .where('id', '<', encodeTime(Math.max(time, 0)))
          // The creation time may be wrong, for example from a machine without a clock battery.
          .where('finished_at', '<', time)
          .limit(limit)
          .$call(forUpdateSkipLocked(db)),
      )
      .executeTakeFirstOrThrow(),
  );
}
