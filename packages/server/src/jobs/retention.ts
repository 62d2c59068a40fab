import { limits } from '@gen3d/schema';
import { encodeTime } from 'ulid';
import { inBatches } from '../db/in-batches.js';
import { forUpdateSkipLocked } from '../db/locks.js';
import type { Db } from '../db/open.js';

const dayMs = 24 * 60 * 60 * 1_000;

/** Deletes the records of jobs that are past their keeping time; their files stay, since their URLs are permanent. */
export function deleteOldJobs(db: Db, now: number): Promise<number> {
  return inBatches((limit) =>
    db
      .deleteFrom('jobs')
      .where('id', 'in', (eb) =>
        eb
          .selectFrom('jobs')
          .select('id')
          // An id starts with its time of creation, so the primary key finds the old ones.
          .where('id', '<', encodeTime(now - limits.taskRetentionDays * dayMs))
          .where('finished_at', 'is not', null)
          .limit(limit)
          .$call(forUpdateSkipLocked(db)),
      )
      .executeTakeFirstOrThrow(),
  );
}
