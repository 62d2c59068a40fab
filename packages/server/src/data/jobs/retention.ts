import { limits } from '@gen3d/schema';
import { encodeTime } from 'ulid';
import { dayMs } from '../../base/time.js';
import { inBatches } from '../db/in-batches.js';
import { forUpdateSkipLocked } from '../db/locks.js';
import type { Db } from '../db/open.js';

/** Of the public test key's jobs. The contract does not say how long they are kept. */
export const sandboxRetentionDays = 1;

/**
 * Deletes the records of jobs that are past their retention time, which is shorter for the sandbox: anyone can create jobs
 * there. Their files stay, since their URLs are permanent. Returns how many records there were.
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
          // An id starts with its time of creation, so an index finds the old ones.
          .where('id', '<', encodeTime(Math.max(time, 0)))
          // The clock of a machine without a battery may have been wrong when the job was created.
          .where('finished_at', '<', time)
          .limit(limit)
          .$call(forUpdateSkipLocked(db)),
      )
      .executeTakeFirstOrThrow(),
  );
}
