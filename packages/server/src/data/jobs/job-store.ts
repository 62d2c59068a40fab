import { createHash } from 'node:crypto';
import { firstCharacters, type JobStatus, limits, maxLabelLength, progress } from '@gen3d/schema';
import { type Expression, sql } from 'kysely';
import { toMicroUsd } from '../../base/money.js';
import { AccountDeletedError, dayOf, jobsOfToday, tooManyToday } from '../accounts/quotas.js';
import { compiledOnce, type Parameters, rowOf } from '../db/compiled-once.js';
import type { Queryable } from '../db/database.js';
import type { InsertableJob, JobRow } from '../db/tables.js';
import type { Time } from '../db/time.js';
import { nextEventTime } from '../webhooks/events.js';
import { isDeleted } from './deletion.js';
import { availableBalance } from './reservations.js';
import { type TaskRow, taskColumns } from './task.js';
import { nextTurn, openJobs } from './turn.js';

const taskOf = compiledOnce((db, parameter: Parameters<{ id: string; accountId: string }>) =>
  db
    .selectFrom('jobs')
    .select(taskColumns)
    .where('id', '=', parameter('id'))
    .where('account_id', '=', parameter('accountId')),
);

/** Finds a job of an account. Undefined if the id is unknown or the job belongs to another account. */
export async function findTask(db: Queryable, accountId: string, id: string): Promise<TaskRow | undefined> {
  return (await taskOf(db, { id, accountId })).rows[0];
}

type JobWithCharge = Pick<JobRow, 'image_urls' | 'attempt' | 'stage_ms' | 'bundle'> & {
  amount_microusd: number | null;
  instance: string | null;
};

/**
 * Finds a job with its charge, if there is one. Undefined if the id is unknown or the job belongs to another account.
 */
export function findJobWithCharge(db: Queryable, accountId: string, id: string): Promise<JobWithCharge | undefined> {
  return db
    .selectFrom('jobs')
    .leftJoin('ledger', (join) => join.onRef('ledger.job_id', '=', 'jobs.id').on('kind', '=', 'charge'))
    .select(['image_urls', 'attempt', 'stage_ms', 'bundle', 'amount_microusd', 'instance'])
    .where('jobs.id', '=', id)
    .where('jobs.account_id', '=', accountId)
    .executeTakeFirst();
}

/** Whether the job has finished, and with which model: none, if it was deleted. Undefined for an unknown id. */
export async function outcomeOfJob(
  db: Queryable,
  id: string,
): Promise<{ finished: boolean; modelKey: string | null } | undefined> {
  const row = await db.selectFrom('jobs').select(['finished_at', 'model_key']).where('id', '=', id).executeTakeFirst();
  if (row) return { finished: row.finished_at !== null, modelKey: row.model_key };
  return (await isDeleted(db, id)) ? { finished: true, modelKey: null } : undefined;
}

export interface Page {
  status?: JobStatus | undefined;
  limit: number;
  /** Lists jobs older than this one, the last of the previous page. */
  before?: string | undefined;
}

/**
 * Lists the jobs of an account, newest first, and says whether there are older ones. Pages are cut at an id instead of
 * an offset, so jobs created meanwhile cause no duplicates or gaps.
 */
export async function listTasks(
  db: Queryable,
  accountId: string,
  { status, limit, before }: Page,
): Promise<{ tasks: TaskRow[]; more: boolean }> {
  let query = db
    .selectFrom('jobs')
    .select(taskColumns)
    .where('account_id', '=', accountId)
    .orderBy('id', 'desc')
    .limit(limit + 1);
  if (status !== undefined) query = query.where('status', '=', status);
  if (before !== undefined) query = query.where('id', '<', before);
  const rows = await query.execute();
  return { tasks: rows.slice(0, limit), more: rows.length > limit };
}

/** Identifies the request that a job was created for. An account has at most one job per origin. */
export interface JobOrigin {
  /** The request's idempotency key. */
  key?: string | null;
  /** See the column `retry_of`. */
  retryOf?: string | null;
}

/** Replaces a long idempotency key with its hash. 256 emoji would need a page of the index. Keys are only compared. */
export const storedKey = (key: string | null): string | null =>
  key === null || key.length <= 64 ? key : createHash('sha256').update(key).digest('base64url');

/** Finds the id of the account's job with an origin. Of a job's retries, only the one that has not failed counts. */
export function findByOrigin(
  db: Queryable,
  accountId: string | Expression<string>,
  { key = null, retryOf = null }: Partial<Record<keyof JobOrigin, string | null | Expression<string | null>>>,
) {
  const jobs = db.selectFrom('jobs').select('id').where('account_id', '=', accountId);
  if (retryOf === null) return jobs.where('idempotency_key', '=', key);
  // A literal condition, to match the partial index.
  return jobs.where('retry_of', '=', retryOf).where(sql<boolean>`status not in ('FAILED', 'CANCELED')`);
}

/** Frees an idempotency key that counts only while its job is unfinished. */
export async function releaseKey(db: Queryable, accountId: string, key: string): Promise<void> {
  await db
    .updateTable('jobs')
    .set({ idempotency_key: null })
    .where('account_id', '=', accountId)
    .where('idempotency_key', '=', key)
    .where('finished_at', 'is not', null)
    .execute();
}

/** A row to insert, whose times may be expressions that the database evaluates. */
export type NewJob = Omit<InsertableJob, keyof typeof initial | 'created_at' | 'finished_at'> &
  Partial<Pick<InsertableJob, keyof typeof initial>> & { created_at: Time; finished_at?: Time | null };

/** The other columns have defaults in the database. */
const initial = { status: 'PENDING', progress: progress.accepted } as const;

/** The state of a job that has just been enqueued. */
export const initialState = {
  ...initial,
  error_code: null,
  error_message: null,
  model_key: null,
  thumbnail_key: null,
} as const;

/** Inserts a job. Returns undefined if the account already has one of the same origin. */
export async function insertJob(db: Queryable, job: NewJob): Promise<JobRow | undefined> {
  return db
    .insertInto('jobs')
    .values({ ...initial, ...job })
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst();
}

/**
 * Inserts a job with its account's next turn in the queue. Returns the time that is reserved for its first event, which
 * the caller must record. Returns undefined if the account already has a job of the same origin or `maxOpenJobs`
 * unfinished ones, or has reserved too much of its balance. Must run in a transaction; the account's row stays locked
 * until that ends.
 * @throws {QuotaError} if the account has created `maxJobsPerDay` jobs today
 * @throws {AccountDeletedError} if it was deleted since its key was checked
 */
export async function enqueueJob(
  trx: Queryable,
  job: NewJob,
  { maxOpenJobs, maxJobsPerDay }: { maxOpenJobs: number; maxJobsPerDay: number },
): Promise<number | undefined> {
  const { account_id: accountId, created_at: now, reserved_microusd = 0 } = job;
  // Also lets one transaction at a time enqueue jobs of an account, so that each sees the jobs of the previous one.
  const [counted] = (await countJob(trx, { accountId, maxJobsPerDay, now, eventTime: Date.now() })).rows;
  if (!counted) throw await refusalOf(trx, accountId, maxJobsPerDay);
  if (counted.openAtMost > maxOpenJobs && (await recountOpenJobs(trx, accountId)) > maxOpenJobs) return undefined;
  if (reserved_microusd > 0 && !(await hasBalance(trx, accountId))) return undefined;
  const { numAffectedRows } = await insertQueued(trx, job);
  return numAffectedRows ? counted.eventTime : undefined;
}

/** Counts a new job of the account, and reserves the time of its first event. Later refused requests count, too. */
const countJob = compiledOnce(
  (trx, parameter: Parameters<{ accountId: string; maxJobsPerDay: number; now: Time; eventTime: number }>) => {
    const now = parameter('now');
    return trx
      .updateTable('accounts')
      .set({
        jobs_day: dayOf(now),
        jobs_of_day: sql`${jobsOfToday(now)} + 1`,
        open_at_most: sql`open_at_most + 1`,
        last_event_at: nextEventTime(parameter('eventTime')),
      })
      .where('id', '=', parameter('accountId'))
      .where(jobsOfToday(now), '<', parameter('maxJobsPerDay'))
      .where('deleted_at', 'is', null)
      .returning(['open_at_most as openAtMost', 'last_event_at as eventTime']);
  },
);

async function refusalOf(trx: Queryable, accountId: string, maxJobsPerDay: number): Promise<Error> {
  const account = trx.selectFrom('accounts').select('deleted_at').where('id', '=', accountId);
  const { deleted_at } = await account.executeTakeFirstOrThrow();
  return deleted_at === null ? tooManyToday(maxJobsPerDay) : new AccountDeletedError();
}

/** Sets the bound to the number of the account's unfinished jobs, with the new one, and returns it. */
async function recountOpenJobs(trx: Queryable, accountId: string): Promise<number> {
  const open_at_most = sql<number>`${openJobs(trx, accountId)} + 1`;
  const account = trx.updateTable('accounts').set({ open_at_most }).where('id', '=', accountId);
  return (await account.returning('open_at_most').executeTakeFirstOrThrow()).open_at_most;
}

/** Whether the balance, without what unfinished jobs have reserved, suffices for another job. */
async function hasBalance(trx: Queryable, accountId: string): Promise<boolean> {
  const { left } = await trx.selectNoFrom(availableBalance(trx, accountId).as('left')).executeTakeFirstOrThrow();
  return left >= toMicroUsd(limits.minBalanceUsd);
}

// With RETURNING or SELECT, SQLite would copy every page before changing it, as it does to insert several rows.
const insertQueued = compiledOnce((trx, parameter: Parameters<NewJob>, given) =>
  trx
    .insertInto('jobs')
    .values({
      ...initial,
      ...rowOf(parameter, given),
      turn: nextTurn(trx, parameter('account_id')),
    })
    .onConflict((conflict) => conflict.doNothing()),
);

/** Folds case and compatibility variants for comparisons. Done here, because databases differ in both. */
export const foldLabel = (text: string): string =>
  // NFKC may turn one character into 18.
  firstCharacters(text.normalize('NFKC').toLowerCase(), maxLabelLength);

export const labelColumns = (label: string | null): Pick<JobRow, 'label' | 'label_folded'> => ({
  label,
  label_folded: foldLabel(label ?? ''),
});
