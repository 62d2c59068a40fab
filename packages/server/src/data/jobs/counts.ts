import type { JobStatus } from '@gen3d/schema';
import { sql } from 'kysely';
import type { Queryable } from '../db/open.js';
import { after, currentTime } from '../db/time.js';

// Each reads an index that holds what it counts and nothing else: see migration 0014.

/** How many jobs are open, and the age of the oldest of them. */
export function openJobsByStatus(db: Queryable): Promise<{ status: JobStatus; count: number; seconds: number }[]> {
  return db
    .selectFrom('jobs')
    .select((eb) => [
      'status',
      eb.fn.countAll<number>().as('count'),
      sql<number>`(${currentTime(db)} - min(created_at)) / 1000.0`.as('seconds'),
    ])
    .where('finished_at', 'is', null)
    .groupBy('status')
    .execute();
}

/** How many jobs were finished within the last `ms`. Counting all that are kept would read millions of rows. */
export function finishedJobsByStatus(db: Queryable, ms: number): Promise<{ status: JobStatus; count: number }[]> {
  return db
    .selectFrom('jobs')
    .select((eb) => ['status', eb.fn.countAll<number>().as('count')])
    .where('finished_at', '>', after(currentTime(db), -ms))
    .groupBy('status')
    .execute();
}
