import { type Compilable, sql } from 'kysely';
import { forUpdateSkipLocked } from '../db/locks.js';
import type { Db, Queryable } from '../db/open.js';
import { prepared } from '../db/prepared.js';
import type { JobRow } from '../db/tables.js';
import { after, type Time } from '../db/time.js';
import { randomToken } from '../ids.js';
import { countedAttempts, type Lease, maxAttempts } from './lifecycle.js';

export interface Claim {
  /** Which runner process asks. */
  runner: string;
  now: Time;
  leaseMs: number;
}

type Claimed = Pick<JobRow, 'id' | 'account_id' | 'type' | 'image_url' | 'attempt' | 'taken_over' | 'trace_id'> & {
  /** Since the job was created, by the clock of the database. */
  waitedMs: number;
};
export type ClaimedJob = Claimed & { lease: Lease };

/** Jobs that a runner may work on. */
const claimable = (db: Queryable, now: Time) =>
  db
    .selectFrom('jobs')
    .select('id')
    .where('finished_at', 'is', null)
    .where((eb) => eb.or([eb('lease_expires_at', 'is', null), eb('lease_expires_at', '<=', now)]))
    .where(countedAttempts(), '<', maxAttempts);

/** One statement that skips locked rows: of several runners that claim concurrently, each gets another job without waiting. */
const claimNext = prepared(
  (db, runner: string, token: string, now: Time, leaseMs: number): Compilable<Claimed> =>
    db
      .updateTable('jobs')
      .set((eb) => ({
        attempt: eb(countedAttempts(), '+', 1),
        lease_token: token,
        lease_expires_at: sql<number>`cast(${now} as bigint) + cast(${leaseMs} as bigint)`,
        runner,
        parked: 0,
        // Whoever gives a job back, or finds its runner dead, takes the token away.
        taken_over: sql<number>`case when lease_token is null then 0 else 1 end`,
      }))
      .where('id', '=', claimable(db, now).orderBy('turn').orderBy('id').limit(1).$call(forUpdateSkipLocked(db)))
      .returning(['id', 'account_id', 'type', 'image_url', 'attempt', 'taken_over', 'trace_id'])
      .returning(sql<number>`cast(${now} as bigint) - created_at`.as('waitedMs')),
);

/**
 * Claims the job whose turn it is, of those that no runner holds or whose lease has run out. One statement, so two runners
 * never get the same job.
 */
export async function claim(db: Db, { runner, now, leaseMs }: Claim): Promise<ClaimedJob | undefined> {
  const token = randomToken(22);
  const job = await claimNext(db, runner, token, now, Math.round(leaseMs));
  return job && { ...job, lease: { jobId: job.id, token } };
}

/** Renews leases that are still held, and returns the tokens of those that are. */
export async function renew(
  db: Db,
  leases: readonly Lease[],
  { now, leaseMs }: Omit<Claim, 'runner'>,
): Promise<Set<string>> {
  const rows = await db
    .updateTable('jobs')
    .set({ lease_expires_at: after(now, leaseMs) })
    .where(
      'lease_token',
      'in',
      leases.map(({ token }) => token),
    )
    .where(
      'id',
      'in',
      leases.map(({ jobId }) => jobId),
    )
    .returning('lease_token')
    .execute();
  return new Set(rows.flatMap(({ lease_token }) => lease_token ?? []));
}

/**
 * Hands a job back as if it had not been claimed: the attempt does not count. Nobody may claim it before `notBefore`, if
 * that is given. Does nothing when the lease is lost.
 */
export async function handBack(db: Db, { jobId, token }: Lease, notBefore: Time | null = null): Promise<void> {
  await db
    .updateTable('jobs')
    .set((eb) => ({
      attempt: eb('attempt', '-', 1),
      lease_token: null,
      lease_expires_at: notBefore,
      runner: null,
      parked: 0,
    }))
    .where('id', '=', jobId)
    .where('lease_token', '=', token)
    .execute();
}

/**
 * Hands back the jobs that the database says this runner holds, other than those in `known`: the response to a claim was
 * lost, and its job would otherwise wait for the lease to run out and be charged with an attempt.
 */
export async function handBackUnknown(db: Db, runner: string, known: readonly Lease[]): Promise<void> {
  const tokens = known.map(({ token }) => token);
  await db
    .updateTable('jobs')
    .set((eb) => ({
      attempt: eb('attempt', '-', 1),
      lease_token: null,
      lease_expires_at: null,
      runner: null,
      parked: 0,
    }))
    .where('runner', '=', runner)
    .where('finished_at', 'is', null)
    .$if(tokens.length > 0, (query) => query.where('lease_token', 'not in', tokens))
    .execute();
}

/** Ends the leases of a runner that is known to be dead, so that its jobs need not wait for them to run out. */
export async function expireLeasesOf(db: Db, runner: string, now: Time): Promise<void> {
  await db
    .updateTable('jobs')
    .set({ attempt: countedAttempts(), lease_token: null, lease_expires_at: now, runner: null, parked: 0 })
    .where('finished_at', 'is', null)
    .where('runner', '=', runner)
    .execute();
}
