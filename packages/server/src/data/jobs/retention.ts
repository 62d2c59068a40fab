import { limits } from '@gen3d/schema';
import { encodeTime } from 'ulid';
import { dayMs } from '../../base/time.js';
import { inBatches } from '../db/in-batches.js';
import { forUpdateSkipLocked } from '../db/locks.js';
import type { Db } from '../db/open.js';

/** Retention of the public test key's jobs, which the contract does not specify. */
export const sandboxRetentionDays = 1;

/**
 * Deletes the records of jobs past their retention time. It is shorter for the sandbox, where anyone can create jobs. Their
 * files stay, because asset URLs are permanent. Returns the number of deleted records.
 */
export async function deleteOldJobs(db: Db, now: number): Promise<number> {
  const { id } = (await db.selectFrom('accounts').select('id').where('sandbox', '=', 1).executeTakeFirst()) ?? {};
  const ofSandbox = id === undefined ? 0 : await deleteBefore(db, now - sandboxRetentionDays * dayMs, id);
  return ofSandbox + (await deleteBefore(db, now - limits.taskRetentionDays * dayMs));
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
