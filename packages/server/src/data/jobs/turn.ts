import { type Expression, sql } from 'kysely';
import type { Queryable } from '../db/database.js';
import type { JobRow } from '../db/tables.js';

// Accounts take turns at inference: start-time fair queueing with jobs of equal length. Jobs are claimed by turn, then
// by id. A new job gets the turn after its account's latest one that is open or has started inference, so an account's
// batch of 1,000 spreads over 1,000 turns. If that turn has passed, the job gets the current one: the highest turn
// whose inference has started. An account that was idle therefore neither waits behind a batch nor saves up turns.
//
// A turn counts from the start of inference, not from creation: canceled jobs and unusable images do not set an account
// back. The turn must be stored beyond the end of the job. Otherwise two accounts that each submit a job when their
// last one is done would keep the current turn from ever advancing, and starve every batch.

const turnsOfOpenJobs = (db: Queryable, accountId: string | Expression<string>) =>
  db.selectFrom('jobs').select('turn').where('account_id', '=', accountId).where('finished_at', 'is', null);

/** Computes the turn of the account's next job. */
export function nextTurn(db: Queryable, accountId: string | Expression<string>) {
  // `order by ... limit 1` instead of `max()`, so that each subquery is one step in an index.
  const ofOpenJobs = turnsOfOpenJobs(db, accountId).orderBy('turn', 'desc').limit(1);
  const ofStartedJobs = db.selectFrom('accounts').select('turn').where('id', '=', accountId);
  const highestStarted = db.selectFrom('accounts').select('turn').orderBy('turn', 'desc').limit(1);
  // One subquery for each of the two partial indexes.
  const [toPrepare, prepared] = [0, 1].map((isPrepared) =>
    db
      .selectFrom('jobs')
      .select('turn')
      .where('finished_at', 'is', null)
      .where('prepared', '=', sql.lit(isPrepared))
      // Excludes jobs that a process holds, and jobs that were released until later.
      .where('lease_expires_at', 'is', null)
      .orderBy('turn')
      .limit(1),
  );
  const current = sql`(select min(turn) from (
    select ${highestStarted} as turn union all select ${toPrepare} union all select ${prepared}
  ) as turns)`;
  return sql<number>`(select max(turn) from (
    select coalesce(${ofOpenJobs}, 0) + 1 as turn union all select ${ofStartedJobs} + 1 union all select ${current}
  ) as turns)`;
}

/** Returns an expression that counts the account's unfinished jobs. */
export const openJobs = (db: Queryable, accountId: string) =>
  sql<number>`(select count(*) from ${turnsOfOpenJobs(db, accountId)} as open_jobs)`;

export async function countOpenJobs(db: Queryable, accountId: string): Promise<number> {
  return (await db.selectNoFrom(openJobs(db, accountId).as('open')).executeTakeFirstOrThrow()).open;
}

/** Records that a job's inference starts. Must run in the transaction that updates the job. */
export async function startTurn(trx: Queryable, { account_id, turn }: JobRow): Promise<void> {
  await trx.updateTable('accounts').set({ turn }).where('id', '=', account_id).where('turn', '<', turn).execute();
}
