import { type Compilable, sql } from 'kysely';
import { randomToken } from '../../base/ids.js';
import { forUpdateSkipLocked } from '../db/locks.js';
import type { Db, Queryable } from '../db/open.js';
import { prepared } from '../db/prepared.js';
import type { JobRow } from '../db/tables.js';
import { after, type Time } from '../db/time.js';
import { type Lease, maxAttempts } from './lifecycle.js';
import type { StageTimes } from './stage-times.js';

export interface Claim {
  /** The runner or preparer process that asks. */
  runner: string;
  now: Time;
  leaseMs: number;
}

type ClaimedRow = Pick<
  JobRow,
  'id' | 'account_id' | 'type' | 'image_url' | 'attempt' | 'taken_over' | 'trace_id' | 'stage_ms'
> & {
  /** Since the job was created, by the clock of the database. */
  waitedMs: number;
};

export interface ClaimedJob extends Omit<ClaimedRow, 'stage_ms'> {
  lease: Lease;
  /** How long its preparation took; 0 before that. */
  prepareMs: number;
}

/** Unfinished jobs before or after their preparation, in the order of the queue. With literals, for the partial indexes. */
const queue = (db: Queryable, stage: 'to prepare' | 'prepared') =>
  db
    .selectFrom('jobs')
    .where('finished_at', 'is', null)
    .where('prepared', '=', sql.lit(stage === 'prepared' ? 1 : 0))
    .orderBy('turn')
    .orderBy('id');

/** Those that no process works on. */
const claimable = (db: Queryable, now: Time, stage: 'to prepare' | 'prepared') =>
  queue(db, stage)
    .where((eb) => eb.or([eb('lease_expires_at', 'is', null), eb('lease_expires_at', '<=', now)]))
    .where('attempt', '<', maxAttempts);

type Claimable = ReturnType<typeof claimable>;

/** Claims the first of `jobs` in one statement, so two processes never get the same job. */
const claimFirst = (db: Queryable, jobs: Claimable, runner: string, token: string, now: Time, leaseMs: number) =>
  db
    .updateTable('jobs')
    .set((eb) => ({
      attempt: eb('attempt', '+', 1),
      lease_token: token,
      lease_expires_at: sql<number>`cast(${now} as bigint) + cast(${leaseMs} as bigint)`,
      runner,
      // A job that is handed back, or whose process is known to have ended, has no token.
      taken_over: sql<number>`case when lease_token is null then 0 else 1 end`,
    }))
    // Of several processes that claim concurrently, each gets another job without waiting.
    .where('id', '=', jobs.select('id').limit(1).$call(forUpdateSkipLocked(db)))
    .returning(['id', 'account_id', 'type', 'image_url', 'attempt', 'taken_over', 'trace_id', 'stage_ms'])
    .returning(sql<number>`cast(${now} as bigint) - created_at`.as('waitedMs'));

const claimPrepared = prepared(
  (db, runner: string, token: string, now: Time, leaseMs: number): Compilable<ClaimedRow> =>
    claimFirst(db, claimable(db, now, 'prepared'), runner, token, now, leaseMs),
);

/** Claims the prepared job whose turn it is, of those that no runner holds or whose lease has run out. */
export async function claim(db: Db, { runner, now, leaseMs }: Claim): Promise<ClaimedJob | undefined> {
  const token = randomToken(22);
  return claimed(await claimPrepared(db, runner, token, now, Math.round(leaseMs)), token);
}

export interface PreparationClaim extends Claim {
  /** Accounts whose jobs are left out. */
  except: readonly string[];
  /** How many prepared jobs may wait for inference. */
  maxPrepared: number;
}

/**
 * Claims the job to prepare whose turn it is. When `maxPrepared` prepared jobs wait already, only one whose turn comes
 * before the last of these. A job whose inference is due soon is thus always prepared, whatever other accounts have in
 * the queue.
 */
export async function claimForPreparation(
  db: Db,
  { runner, now, leaseMs, except, maxPrepared }: PreparationClaim,
): Promise<ClaimedJob | undefined> {
  const last = await claimable(db, now, 'prepared')
    .select(['turn', 'id'])
    .limit(1)
    .offset(maxPrepared - 1)
    .executeTakeFirst();
  let jobs = claimable(db, now, 'to prepare');
  if (except.length > 0) jobs = jobs.where('account_id', 'not in', except);
  if (last) jobs = jobs.where(sql<boolean>`(turn, id) < (${last.turn}, ${last.id})`);
  const token = randomToken(22);
  return claimed(await claimFirst(db, jobs, runner, token, now, Math.round(leaseMs)).executeTakeFirst(), token);
}

function claimed(row: ClaimedRow | undefined, token: string): ClaimedJob | undefined {
  if (!row) return undefined;
  const { stage_ms, ...job } = row;
  const { prepare = 0 } = stage_ms === null ? {} : (JSON.parse(stage_ms) as StageTimes);
  return { ...job, prepareMs: prepare, lease: { jobId: job.id, token } };
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
    .set({ lease_token: null, lease_expires_at: now, runner: null })
    .where('finished_at', 'is', null)
    .where('runner', '=', runner)
    .execute();
}
