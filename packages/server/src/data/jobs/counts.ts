import { isTerminal, type JobStatus, jobStatuses } from '@gen3d/schema';
import { sql } from 'kysely';
import { maxRowsRead } from '../db/bounds.js';
import type { Queryable } from '../db/database.js';
import { containing } from '../db/like.js';
import { after, currentTime } from '../db/time.js';

// Each query reads an index that contains exactly the rows it counts.

/** Counts the open jobs, and says how old the oldest is, in seconds. */
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

/** Counts the jobs finished within the last `ms`. Counting all stored jobs would read millions of rows. */
export function finishedJobsByStatus(db: Queryable, ms: number): Promise<{ status: JobStatus; count: number }[]> {
  return db
    .selectFrom('jobs')
    .select((eb) => ['status', eb.fn.countAll<number>().as('count')])
    .where('finished_at', '>', after(currentTime(db), -ms))
    .groupBy('status')
    .execute();
}

/** Returns when the oldest open job was created. Undefined if there is none. */
export async function oldestOpenJob(db: Queryable): Promise<number | undefined> {
  const row = await db
    .selectFrom('jobs')
    .select('created_at')
    .where('finished_at', 'is', null)
    .orderBy('id')
    .limit(1)
    .executeTakeFirst();
  return row?.created_at;
}

const openStatuses = jobStatuses.filter((status) => !isTerminal(status));

export interface AccountQuery {
  /** A part of the name in any case, or a whole name or id. A part is found only in names of the newest accounts. */
  search?: string | undefined;
  /** Continues after this account, the last of the previous page. */
  after?: string | undefined;
  limit: number;
}

/**
 * Lists a page of accounts as `listAccounts` does, with the number of their open jobs, and says whether more follow.
 */
export async function accountsWithOpenJobs(db: Queryable, { search, after, limit }: AccountQuery) {
  const newest = db.selectFrom('accounts').select(['id', 'name']).orderBy('id', 'desc').limit(maxRowsRead);
  const named = (text: string) =>
    sql<boolean>`id in (
      select id from ${newest.as('newest')} where lower(name) like lower(${containing(text)}) escape '\\'
      union all select id from accounts where name = ${text}
      union all select id from accounts where id = ${text})`;
  const rows = await db
    .selectFrom('accounts')
    .selectAll()
    .select((eb) =>
      eb
        .selectFrom('jobs')
        .select(eb.fn.countAll<number>().as('open_jobs'))
        .whereRef('account_id', '=', 'accounts.id')
        // Selects by status, which an index supports, because an account may have millions of finished jobs.
        .where('status', 'in', openStatuses)
        .as('open_jobs'),
    )
    .where('deleted_at', 'is', null)
    .$if(search !== undefined, (query) => query.where(named(search ?? '')))
    // The sandbox, which is last, is never the end of a page that another one follows.
    .$if(after !== undefined, (query) => query.where(sql<boolean>`(sandbox, id) > (0, ${after})`))
    .orderBy('sandbox')
    .orderBy('id')
    .limit(limit + 1)
    .execute();
  return { rows: rows.slice(0, limit), more: rows.length > limit };
}
