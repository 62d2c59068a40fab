import { canMove, type JobStatus, progress, type TaskErrorCode } from '@gen3d/schema';
import { sql } from 'kysely';
import { priceOf } from '../../base/money.js';
import { charge } from '../accounts/ledger.js';
import type { Db, Queryable } from '../db/database.js';
import type { JobRow } from '../db/tables.js';
import { after, isUnleased, type Time } from '../db/time.js';
import { forUpdate, forUpdateSkipLocked, transaction } from '../db/transaction.js';
import { recordTaskUpdated } from '../webhooks/events.js';
import { type JobFailure, outOfAttempts } from './failures.js';
import { forgetImage } from './retry.js';
import type { StageTimes } from './stage-times.js';
import { startTurn } from './turn.js';

// Changes jobs: PENDING, QUEUED, IN_PROGRESS, then SUCCEEDED, FAILED or CANCELED. This is the only file that writes
// their status and progress. Each change and its event are one transaction, fenced by the token of the lease, so a
// process that has lost its lease changes nothing. The status never goes back, the progress never falls, and a job is
// finished once: one final event, one charge. A crash costs an attempt; after the third one, the job fails with
// `internal_error`.

/** Entitles a process to work on one job for one attempt. */
export interface Lease {
  jobId: string;
  token: string;
}

/** The lease expired and another process claimed the job, or the job was canceled. Stop working on it. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError';
  constructor(jobId: string) {
    super(`The lease on job ${jobId} was lost`);
  }
}

/** Maximum number of claims of a job per stage. */
export const maxAttempts = 3;

/** Reads and locks the job under its lease. Must run in the transaction that writes it. */
async function leased(trx: Queryable, { jobId, token }: Lease): Promise<JobRow> {
  const job = await trx
    .selectFrom('jobs')
    .selectAll()
    .where('id', '=', jobId)
    .where('lease_token', '=', token)
    .where('finished_at', 'is', null)
    .$call(forUpdate(trx))
    .executeTakeFirst();
  if (!job) throw new LeaseLostError(jobId);
  return job;
}

const unleased = { lease_token: null, lease_expires_at: null, lease_ms: null, runner: null };

type Change = Partial<Omit<JobRow, 'id' | 'finished_at' | 'lease_expires_at'>> & {
  finished_at?: Time;
  lease_expires_at?: Time | null;
};

/** Makes every change of a job's status or progress, and records the event in the same transaction. */
async function write(trx: Queryable, job: JobRow, change: Change, now: Time): Promise<void> {
  const status = change.status ?? job.status;
  if (status !== job.status && !canMove(job.status, status)) {
    throw new Error(`Job ${job.id} cannot move from ${job.status} to ${status}`);
  }
  await trx.updateTable('jobs').set(change).where('id', '=', job.id).execute();
  await recordTaskUpdated(trx, { ...job, ...change }, now);
}

/** Ends a job. Returns the id of the job whose photo is no longer kept, if any. */
async function end(
  trx: Queryable,
  job: JobRow,
  change: { status: 'SUCCEEDED' | 'FAILED' | 'CANCELED' } & Change,
  now: Time,
): Promise<string | undefined> {
  await write(trx, job, { ...change, finished_at: now, ...unleased }, now);
  return forgetImage(trx, job, change.status);
}

const failedWith = ({ code, message }: { code: TaskErrorCode; message: string }) => ({
  status: 'FAILED' as const,
  error_code: code,
  error_message: message,
});

/**
 * Moves a job forward. A later attempt repeats stages that an earlier one has reported: then the status stays, the
 * progress does not fall, and without a change no event is sent.
 * @throws {LeaseLostError}
 */
export async function advance(
  db: Db,
  lease: Lease,
  to: { status: Extract<JobStatus, 'PENDING' | 'QUEUED' | 'IN_PROGRESS'>; progress: number },
  now: Time,
): Promise<void> {
  await transaction(db, async (trx) => {
    const job = await leased(trx, lease);
    const change = {
      status: canMove(job.status, to.status) ? to.status : job.status,
      progress: Math.max(job.progress, to.progress),
    };
    if (change.status === 'IN_PROGRESS' && job.status !== 'IN_PROGRESS') await startTurn(trx, job);
    if (change.status !== job.status || change.progress !== job.progress) await write(trx, job, change, now);
  });
}

/**
 * Ends the preparation of a job, which then waits for inference without a lease and with all attempts left.
 * @throws {LeaseLostError}
 */
export async function finishPreparation(db: Db, lease: Lease, prepareMs: number, now: Time): Promise<void> {
  await transaction(db, async (trx) => {
    const job = await leased(trx, lease);
    const change: Change = {
      status: 'QUEUED',
      progress: progress.queued,
      prepared: 1,
      attempt: 0,
      stage_ms: JSON.stringify({ prepare: prepareMs } satisfies StageTimes),
      ...unleased,
    };
    await write(trx, job, change, now);
  });
}

/** Checks whether this attempt has succeeded already: model keys are unique per attempt. */
async function hasSucceededWith(trx: Queryable, jobId: string, modelKey: string): Promise<boolean> {
  const query = trx.selectFrom('jobs').select('id').where('id', '=', jobId).where('model_key', '=', modelKey);
  return (await query.executeTakeFirst()) !== undefined;
}

export interface Success {
  modelKey: string;
  thumbnailKey: string;
  inferenceMs: number;
  stageTimes: StageTimes;
  /** Name of the bundle that made the model. */
  bundle: string;
  /** Codes of `warningMessages`. */
  warnings: readonly string[];
  instance: string;
  rateUsdPerSecond: number;
}

/**
 * Finishes a job with its model and charges for it in one transaction. Idempotent: it can be called again with the same
 * assets if the response was lost. Returns the id of the job whose photo is no longer kept, if any.
 * @throws {LeaseLostError}
 */
export async function succeed(db: Db, lease: Lease, success: Success, now: Time): Promise<string | undefined> {
  const { modelKey, thumbnailKey, inferenceMs, instance } = success;
  return transaction(db, async (trx) => {
    const job = await leased(trx, lease).catch(async (error: unknown) => {
      if (!(error instanceof LeaseLostError && (await hasSucceededWith(trx, lease.jobId, modelKey)))) throw error;
    });
    if (!job) return undefined;
    const change = {
      status: 'SUCCEEDED' as const,
      progress: progress.done,
      model_key: modelKey,
      thumbnail_key: thumbnailKey,
      stage_ms: JSON.stringify(success.stageTimes),
      bundle: success.bundle,
      warnings: JSON.stringify(success.warnings),
      // A retry uses the kept photos, and URLs may contain a secret.
      image_urls: null,
    };
    const forgotten = await end(trx, job, change, now);
    const price = priceOf(inferenceMs, success.rateUsdPerSecond);
    await charge(trx, { accountId: job.account_id, jobId: job.id, price, instance, inferenceMs }, now);
    return forgotten;
  });
}

/**
 * Finishes a job that cannot succeed. Returns the id of the job whose photo is no longer kept, if any.
 * @throws {LeaseLostError}
 */
export async function fail(db: Db, lease: Lease, failure: JobFailure, now: Time): Promise<string | undefined> {
  return transaction(db, async (trx) => {
    const job = await leased(trx, lease);
    return end(trx, job, failedWith(failure), now);
  });
}

/**
 * Ends an attempt that failed unexpectedly. The job can be claimed again after `pauseMs`, or fails if this was its last
 * attempt. Returns whether another attempt will follow.
 * @throws {LeaseLostError}
 */
export async function failAttempt(db: Db, lease: Lease, pauseMs: number, now: Time, reason?: string): Promise<boolean> {
  return transaction(db, async (trx) => {
    const job = await leased(trx, lease);
    const again = job.attempt < maxAttempts;
    if (again) {
      const change = { ...unleased, lease_expires_at: after(now, pauseMs), lease_ms: pauseMs };
      await trx.updateTable('jobs').set(change).where('id', '=', job.id).execute();
    } else {
      await end(trx, job, failedWith(outOfAttempts(job.attempt, reason)), now);
    }
    return again;
  });
}

/** Fails the jobs whose last attempt's lease expired. Returns their number. */
export async function reap(db: Db, now: Time): Promise<number> {
  return transaction(db, async (trx) => {
    const jobs = await trx
      .selectFrom('jobs')
      .selectAll()
      .where('finished_at', 'is', null)
      .where('attempt', '>=', maxAttempts)
      .where(isUnleased(now, sql.ref('lease_ms')))
      .limit(100)
      // Skipped rows are being handled by another server.
      .$call(forUpdateSkipLocked(trx))
      .execute();
    // Locks the accounts' rows in a fixed order, to avoid deadlocks.
    for (const job of jobs.toSorted((a, b) => (a.account_id < b.account_id ? -1 : 1)))
      await end(trx, job, failedWith(outOfAttempts(job.attempt)), now);
    return jobs.length;
  });
}

export type CancelOutcome = 'canceled' | 'unknown' | 'too_late';

interface Cancellation {
  outcome: CancelOutcome;
  /** The job whose photo is no longer kept, if there is one. */
  forgotten?: string | undefined;
}

/**
 * Cancels an unfinished job. A machine that works on it loses its lease, and stops when it tries to renew it.
 *
 * @param accountId the account that asks. Undefined for the operator
 */
export function cancel(db: Db, jobId: string, now: Time, accountId?: string): Promise<Cancellation> {
  return transaction(db, async (trx) => {
    const job = await trx
      .selectFrom('jobs')
      .selectAll()
      .where('id', '=', jobId)
      .$if(accountId !== undefined, (query) => query.where('account_id', '=', accountId ?? ''))
      .$call(forUpdate(trx))
      .executeTakeFirst();
    if (!job) return { outcome: 'unknown' };
    if (!canMove(job.status, 'CANCELED')) return { outcome: 'too_late' };
    return { outcome: 'canceled', forgotten: await end(trx, job, { status: 'CANCELED' }, now) };
  });
}
