import { jobType, progress } from '@gen3d/schema';
import { sql } from 'kysely';
import { randomToken } from '../../base/ids.js';
import type { Db, Queryable } from '../db/database.js';
import type { JobRow } from '../db/tables.js';
import { after, isUnleased, type Time } from '../db/time.js';
import { forUpdateSkipLocked, transaction } from '../db/transaction.js';
import { advance, type Lease, maxAttempts } from './lifecycle.js';
import type { StageTimes } from './stage-times.js';

// Gives jobs to processes. A claim takes the first job in queue order with one statement, which writes a lease into its
// row, so two processes never get the same job. Its stage starts in the same transaction. If a process crashes, its
// jobs can be claimed again when their leases expire. The queue is the table itself, read through a partial index of
// the waiting jobs: with a million of them, a claim takes about 4 ms on SQLite and PostgreSQL. The price is that idle
// processes poll; the process that creates a job wakes them, so they seldom find it late.

export interface Claim {
  /** Names the holder of the lease: the runner of an inference, or the machine of a preparation. */
  runner: string;
  now: Time;
  leaseMs: number;
}

const claimedColumns = [
  'id',
  'account_id',
  'type',
  'views',
  'image_urls',
  'label',
  'sampler',
  'options',
  'attempt',
  'taken_over',
  'trace_id',
  'stage_ms',
] as const;
type ClaimedRow = Pick<JobRow, (typeof claimedColumns)[number]> & {
  /** Time since the job was created, on the database's clock. */
  waitedMs: number;
};

export interface ClaimedJob extends Omit<ClaimedRow, 'stage_ms'> {
  lease: Lease;
  /** Duration of the preparation; 0 if the job is not prepared. */
  prepareMs: number;
}

export type Stage = 'preparation' | 'inference';

/** Unfinished jobs of a stage in queue order. Uses literals to match the partial indexes. */
const queue = (db: Queryable, stage: Stage) =>
  db
    .selectFrom('jobs')
    .where('finished_at', 'is', null)
    .where('prepared', '=', sql.lit(stage === 'inference' ? 1 : 0))
    .orderBy('turn')
    .orderBy('id');

/** Selects the jobs in the queue that no process works on. */
const claimable = (db: Queryable, now: Time, stage: Stage) =>
  queue(db, stage)
    .where(isUnleased(now, sql.ref('lease_ms')))
    .where('attempt', '<', maxAttempts);

type Claimable = ReturnType<typeof claimable>;

/** Returns the stages that have a job to claim. One query, because idle machines ask every second. */
export async function stagesWithJobs(db: Db, now: Time): Promise<ReadonlySet<Stage>> {
  const has = (stage: Stage) => claimable(db, now, stage).select('id').limit(1);
  const found = await db
    .selectNoFrom([has('preparation').as('preparation'), has('inference').as('inference')])
    .executeTakeFirstOrThrow();
  return new Set((['preparation', 'inference'] as const).filter((stage) => found[stage] !== null));
}

/** The state of a job whose stage has started. */
const started = {
  preparation: { status: 'PENDING', progress: progress.preparing },
  inference: { status: 'IN_PROGRESS', progress: progress.inferring },
} as const;

/** Claims the first of `jobs`, and starts its stage. */
function claimFirst(
  db: Db,
  stage: Stage,
  jobs: Claimable,
  claim: Claim,
  onlyFirstAttempts = false,
): Promise<ClaimedJob | undefined> {
  return transaction(db, async (trx) => {
    const job = await leaseFirst(trx, jobs, claim, onlyFirstAttempts);
    // A job of another type fails at once.
    if (job?.type === jobType) await advance(trx, job.lease, started[stage], claim.now);
    return job;
  });
}

/** Leases the first of `jobs` in one statement, so two processes never get the same job. */
async function leaseFirst(
  db: Queryable,
  jobs: Claimable,
  { runner, now, leaseMs }: Claim,
  onlyFirstAttempts: boolean,
): Promise<ClaimedJob | undefined> {
  const token = randomToken(22);
  const row: ClaimedRow | undefined = await db
    .updateTable('jobs')
    .set((eb) => ({
      attempt: eb('attempt', '+', 1),
      lease_token: token,
      lease_expires_at: after(now, leaseMs),
      lease_ms: Math.round(leaseMs),
      runner,
      // Null if the job was released, or its attempt has failed.
      taken_over: sql<number>`case when lease_token is null then 0 else 1 end`,
    }))
    // Processes that claim concurrently each get a different job, without waiting.
    .where('id', '=', jobs.select('id').limit(1).$call(forUpdateSkipLocked(db)))
    .$if(onlyFirstAttempts, (query) => query.where('attempt', '=', 0))
    .returning(claimedColumns)
    .returning(sql<number>`cast(${now} as bigint) - created_at`.as('waitedMs'))
    .executeTakeFirst();
  if (!row) return undefined;
  const { stage_ms, ...job } = row;
  const { prepare = 0 } = stage_ms === null ? {} : (JSON.parse(stage_ms) as StageTimes);
  return { ...job, prepareMs: prepare, lease: { jobId: job.id, token } };
}

export interface InferenceClaim extends Claim {
  /**
   * If true, a job that was attempted before is not claimed, nor any job behind it: it may have crashed its runner, so
   * it must be alone in a process.
   */
  holdsOthers?: boolean;
}

/** Claims the next prepared job that no runner holds, or whose lease has expired. */
export function claim(db: Db, { holdsOthers = false, ...options }: InferenceClaim): Promise<ClaimedJob | undefined> {
  return claimFirst(db, 'inference', claimable(db, options.now, 'inference'), options, holdsOthers);
}

/** Skips the jobs of all accounts. */
export const everyAccount = Symbol('every account');
export type SkippedAccounts = readonly string[] | typeof everyAccount;

export interface PreparationClaim extends Claim {
  /** Accounts whose inline images are skipped, and accounts whose remote images are. */
  skipped?: { inline: SkippedAccounts; remote: SkippedAccounts };
  /** How many prepared jobs may wait for inference. */
  maxPrepared: number;
}

/**
 * Claims the next job to prepare. If `maxPrepared` prepared jobs are already waiting, claims only a job that would run
 * before the last of these. An account whose turn is near is not held up by the batches of others.
 */
export async function claimForPreparation(
  db: Db,
  { skipped = { inline: [], remote: [] }, maxPrepared, ...options }: PreparationClaim,
): Promise<ClaimedJob | undefined> {
  const { now } = options;
  const last = await claimable(db, now, 'inference')
    .select(['turn', 'id'])
    .limit(1)
    .offset(maxPrepared - 1)
    .executeTakeFirst();
  let jobs = claimable(db, now, 'preparation');
  const ofOthers = [
    [skipped.inline, 'is not'],
    [skipped.remote, 'is'],
  ] as const;
  for (const [accounts, is] of ofOthers) {
    if (accounts === everyAccount) jobs = jobs.where('image_urls', is, null);
    else if (accounts.length > 0) {
      jobs = jobs.where((eb) => eb.or([eb('image_urls', is, null), eb('account_id', 'not in', accounts)]));
    }
  }
  if (last) jobs = jobs.where(sql<boolean>`(turn, id) < (${last.turn}, ${last.id})`);
  return claimFirst(db, 'preparation', jobs, options);
}

/** Returns the ids of the first `limit` jobs in the queue whose inference has not started, in order. */
export async function firstInQueue(db: Db, limit: number): Promise<string[]> {
  const first = (stage: Stage) =>
    queue(db, stage).where('status', '!=', 'IN_PROGRESS').select(['id', 'turn']).limit(limit).execute();
  const waiting = [...(await first('inference')), ...(await first('preparation'))];
  return waiting
    .sort((a, b) => a.turn - b.turn || (a.id < b.id ? -1 : 1))
    .slice(0, limit)
    .map(({ id }) => id);
}

/** A lease, and the progress that the inference under it has reached. */
export interface HeldLease extends Lease {
  reached?: number | undefined;
}

/** Renews the leases that are still held, with the progress of their jobs. Returns their tokens. */
export function renew(
  db: Db,
  leases: readonly HeldLease[],
  { now, leaseMs }: Omit<Claim, 'runner'>,
): Promise<Set<string>> {
  const tokens = leases.map(({ token }) => token);
  const jobIds = leases.map(({ jobId }) => jobId);
  return transaction(db, async (trx) => {
    const rows = await trx
      .updateTable('jobs')
      .set({ lease_expires_at: after(now, leaseMs) })
      .where('lease_token', 'in', tokens)
      .where('id', 'in', jobIds)
      .returning(['lease_token', 'account_id'])
      .execute();
    // Locks the accounts' rows in a fixed order, to avoid deadlocks.
    const kept = rows.toSorted((a, b) => (a.account_id < b.account_id ? -1 : 1)).map(({ lease_token }) => lease_token);
    for (const token of kept) {
      const { reached, ...lease } = leases.find((held) => held.token === token)!;
      if (reached !== undefined) await advance(trx, lease, { status: 'IN_PROGRESS', progress: reached }, now);
    }
    return new Set(kept.filter((token) => token !== null));
  });
}

/**
 * Releases a job as if it had not been claimed: the attempt does not count. If a pause is given, no process may claim
 * it before that has passed. Does nothing if the lease is lost.
 */
export async function release(db: Db, { jobId, token }: Lease, pause?: { ms: number; now: Time }): Promise<void> {
  await db
    .updateTable('jobs')
    .set((eb) => ({
      attempt: eb('attempt', '-', 1),
      lease_token: null,
      lease_expires_at: pause ? after(pause.now, pause.ms) : null,
      lease_ms: pause?.ms ?? null,
      runner: null,
    }))
    .where('id', '=', jobId)
    .where('lease_token', '=', token)
    .execute();
}

/**
 * Releases the jobs that this runner holds according to the database, except those in `known`. Needed when the response
 * to a claim was lost: otherwise the job would wait for its lease to expire and lose an attempt.
 */
export async function releaseUnknown(db: Db, runner: string, known: readonly Lease[]): Promise<void> {
  const tokens = known.map(({ token }) => token);
  await db
    .updateTable('jobs')
    .set((eb) => ({ attempt: eb('attempt', '-', 1), lease_token: null, lease_expires_at: null, runner: null }))
    .where('runner', '=', runner)
    .where('finished_at', 'is', null)
    .$if(tokens.length > 0, (query) => query.where('lease_token', 'not in', tokens))
    .execute();
}
