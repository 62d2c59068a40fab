import { createHash } from 'node:crypto';
import { firstCharacters, type JobStatus, limits, maxLabelLength, progress } from '@gen3d/schema';
import { type Expression, sql } from 'kysely';
import { toMicroUsd } from '../../base/money.js';
import { countJob } from '../accounts/quotas.js';
import type { Queryable } from '../db/database.js';
import { type Parameters, prepared } from '../db/prepared.js';
import type { InsertableJob, JobRow } from '../db/tables.js';
import type { Time } from '../db/time.js';
import { isDeleted } from './deletion.js';
import { availableBalance } from './reservations.js';
import { type TaskRow, taskColumns } from './task.js';
import { hasOpenJobs, nextTurn } from './turn.js';

const taskOf = prepared((db, parameter: Parameters<{ id: string; accountId: string }>) =>
  db
    .selectFrom('jobs')
    .select(taskColumns)
    .where('id', '=', parameter('id'))
    .where('account_id', '=', parameter('accountId')),
);

/** Finds a job of an account. Undefined if the id is unknown or the job belongs to another account. */
export async function findTask(db: Queryable, accountId: string, id: string): Promise<TaskRow | undefined> {
  return (await taskOf(db, { id, accountId }))[0];
}

type JobWithCharge = Pick<JobRow, 'image_url' | 'attempt' | 'stage_ms' | 'bundle'> & {
  amount_microusd: number | null;
  instance: string | null;
  inference_ms: number | null;
};

/**
 * Finds a job with its charge, if there is one. Undefined if the id is unknown or the job belongs to another account.
 */
export function findJobWithCharge(db: Queryable, accountId: string, id: string): Promise<JobWithCharge | undefined> {
  return db
    .selectFrom('jobs')
    .leftJoin('ledger', (join) => join.onRef('ledger.job_id', '=', 'jobs.id').on('kind', '=', 'charge'))
    .select(['image_url', 'attempt', 'stage_ms', 'bundle', 'amount_microusd', 'instance', 'inference_ms'])
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

/** A row to insert, whose times may be expressions that the database evaluates. */
export type NewJob = Omit<InsertableJob, keyof typeof initial | 'created_at' | 'finished_at'> &
  Partial<Pick<InsertableJob, keyof typeof initial>> & { created_at: Time; finished_at?: Time | null };

/** The other columns have defaults in the database. */
const initial = { status: 'PENDING', progress: progress.accepted } as const;

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
 * Inserts a job with its account's next turn in the queue. Returns undefined if the account already has a job of the same
 * origin or `maxOpenJobs` unfinished ones, or has reserved too much of its balance. Must run in a transaction; the
 * account's row stays locked until that ends.
 * @throws {QuotaError} if the account has created `maxJobsPerDay` jobs today
 */
export async function enqueueJob(
  trx: Queryable,
  job: NewJob,
  { maxOpenJobs, maxJobsPerDay }: { maxOpenJobs: number; maxJobsPerDay: number },
): Promise<JobRow | undefined> {
  // Also lets one transaction at a time enqueue jobs of an account, so that each sees the jobs of the previous one.
  await countJob(trx, job.account_id, maxJobsPerDay, job.created_at);
  const reserved = job.reserved_microusd ?? 0;
  const [row] = await insertQueued(trx, { ...initial, ...job, reserved_microusd: reserved, maxOpenJobs });
  return row;
}

const insertQueued = prepared((trx, parameter: Parameters<NewJob & { maxOpenJobs: number }>, given) => {
  const columns = given.filter((name) => name !== 'maxOpenJobs');
  const accountId = parameter('account_id');
  const minBalance = toMicroUsd(limits.minBalanceUsd);
  return trx
    .insertInto('jobs')
    .columns([...columns, 'turn'])
    .expression(
      trx
        .selectNoFrom([...columns.map((column) => parameter(column).as(column)), nextTurn(trx, accountId).as('turn')])
        .where(({ not }) => not(hasOpenJobs(trx, accountId, parameter('maxOpenJobs'))))
        .where(({ or, eb }) =>
          or([
            eb(parameter('reserved_microusd'), '=', sql.lit(0)),
            eb(availableBalance(trx, accountId), '>=', sql.lit(minBalance)),
          ]),
        ),
    )
    .onConflict((conflict) => conflict.doNothing())
    .returningAll();
});

/** Folds case and compatibility variants for comparisons. Done here, because databases differ in both. */
export const foldLabel = (text: string): string =>
  // NFKC may turn one character into 18.
  firstCharacters(text.normalize('NFKC').toLowerCase(), maxLabelLength);

export const labelColumns = (label: string | null): Pick<JobRow, 'label' | 'label_folded'> => ({
  label,
  label_folded: foldLabel(label ?? ''),
});
