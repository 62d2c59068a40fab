import { sql } from 'kysely';
import { isPostgres } from '../db/dialect.js';
import { forNoKeyUpdate } from '../db/locks.js';
import type { Queryable } from '../db/open.js';
import { prepared } from '../db/prepared.js';
import type { JobRow } from '../db/tables.js';

// Accounts take turns at inference: start-time fair queueing with jobs of equal length. Jobs are claimed by turn, then by
// id. A new job gets one turn more than its account's latest that is open or has had an inference, so an account's batch
// of 1,000 spreads over 1,000 turns. If that turn has passed, the job gets the present one: the highest turn whose
// inference has started. An account that was away therefore neither waits behind a batch nor has turns saved up.
//
// A turn counts once inference starts, not at creation: an account is not set back by jobs that were canceled or whose
// image was unusable. It has to be remembered after the job has finished: if it were not, two accounts that each submit a
// job when their last one is done would keep the present turn from ever ending, and starve every batch.

/** Lets one transaction at a time put jobs of the account into the queue, so that each sees those of the one before. */
export async function lockTurns(trx: Queryable, accountId: string): Promise<void> {
  // SQLite's transactions come one after the other anyway.
  if (isPostgres(trx)) await lockAccount(trx, accountId);
}

const lockAccount = prepared((db, accountId: string) =>
  db.selectFrom('accounts').select('id').where('id', '=', accountId).$call(forNoKeyUpdate(db)),
);

/** The turn of the account's next job. */
export function nextTurn(db: Queryable, accountId: string) {
  // With `order by` and not `max()`, so that each is one step in an index.
  const ofOpenJobs = db
    .selectFrom('jobs')
    .select('turn')
    .where('account_id', '=', accountId)
    .where('finished_at', 'is', null)
    .orderBy('turn', 'desc')
    .limit(1);
  const ofStartedJobs = db.selectFrom('accounts').select('turn').where('id', '=', accountId);
  const highestStarted = db.selectFrom('accounts').select('turn').orderBy('turn', 'desc').limit(1);
  // One for each of the two indexes.
  const [toPrepare, prepared] = [0, 1].map((stage) =>
    db
      .selectFrom('jobs')
      .select('turn')
      .where('finished_at', 'is', null)
      .where('prepared', '=', sql.lit(stage))
      // A job that a process holds does not wait, nor does one that was handed back until later.
      .where('lease_expires_at', 'is', null)
      .orderBy('turn')
      .limit(1),
  );
  const present = sql`(select min(turn) from (
    select ${highestStarted} as turn union all select ${toPrepare} union all select ${prepared}
  ) as turns)`;
  const greatest = sql.raw(isPostgres(db) ? 'greatest' : 'max');
  return sql<number>`${greatest}(coalesce(${ofOpenJobs}, 0) + 1, ${ofStartedJobs} + 1, ${present})`;
}

/** How many unfinished jobs the account has, counted no further than `limit`. */
export function openJobs(db: Queryable, accountId: string, limit: number) {
  const open = db
    .selectFrom('jobs')
    .select('turn')
    .where('account_id', '=', accountId)
    .where('finished_at', 'is', null)
    .limit(limit);
  return sql<number>`(select count(*) from ${open} as open_jobs)`;
}

/** Notes that a job's inference starts. Must run in the transaction that updates the job. */
export async function startTurn(trx: Queryable, { account_id, turn }: JobRow): Promise<void> {
  await trx.updateTable('accounts').set({ turn }).where('id', '=', account_id).where('turn', '<', turn).execute();
}
