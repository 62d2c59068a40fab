import type { JobStatus } from '@gen3d/schema';
import { sql } from 'kysely';
import type { Queryable } from '../db/open.js';
import { after, currentTime } from '../db/time.js';

// Each query reads an index that contains exactly the rows it counts; see migration 0014.

/** The number of open jobs, and the age of the oldest in seconds. */
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

/** The number of jobs finished within the last `ms`. Counting all stored jobs would read millions of rows. */
export function finishedJobsByStatus(db: Queryable, ms: number): Promise<{ status: JobStatus; count: number }[]> {
  return db
    .selectFrom('jobs')
    .select((eb) => ['status', eb.fn.countAll<number>().as('count')])
    .where('finished_at', '>', after(currentTime(db), -ms))
    .groupBy('status')
    .execute();
}
