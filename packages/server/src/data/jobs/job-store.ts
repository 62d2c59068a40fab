import type { JobStatus } from '@gen3d/schema';
import { type Compilable, sql } from 'kysely';
import type { Queryable } from '../db/open.js';
import { prepared, preparedRows } from '../db/prepared.js';
import type { JobRow } from '../db/tables.js';
import type { Time } from '../db/time.js';
import { type TaskRow, taskColumns } from './task.js';
import { lockTurns, nextTurn, openJobs } from './turn.js';

/** One job of an account, or undefined for an unknown id and for another account's alike. */
export const findTask = prepared(
  (db, accountId: string, id: string): Compilable<TaskRow> =>
    db.selectFrom('jobs').select(taskColumns).where('id', '=', id).where('account_id', '=', accountId),
);

export interface Page {
  status?: JobStatus | undefined;
  limit: number;
  /** Only jobs older than this id: the last one of the page before. */
  before?: string | undefined;
}

const pageOfJobs = (db: Queryable, accountId: string, before: string, limit: number) =>
  db
    .selectFrom('jobs')
    .select(taskColumns)
    .where('account_id', '=', accountId)
    .where('id', '<', before)
    .orderBy('id', 'desc')
    .limit(limit);

const jobsBefore = preparedRows(pageOfJobs);
const jobsWithStatusBefore = preparedRows(
  (db, accountId: string, before: string, limit: number, status: JobStatus): Compilable<TaskRow> =>
    pageOfJobs(db, accountId, before, limit).where('status', '=', status),
);

/** Sorts after every ULID. */
const afterAll = '~';

/**
 * Jobs of an account, newest first, and whether older ones follow.
 * A page is cut at an id, not at an offset: jobs created meanwhile neither repeat nor hide any.
 */
export async function listTasks(
  db: Queryable,
  accountId: string,
  { status, limit, before = afterAll }: Page,
): Promise<{ tasks: TaskRow[]; more: boolean }> {
  const rows = status
    ? await jobsWithStatusBefore(db, accountId, before, limit + 1, status)
    : await jobsBefore(db, accountId, before, limit + 1);
  return { tasks: rows.slice(0, limit), more: rows.length > limit };
}

const jobOfKey = prepared((db, accountId: string, key: string) =>
  db.selectFrom('jobs').select('id').where('account_id', '=', accountId).where('idempotency_key', '=', key),
);

export async function findByIdempotencyKey(db: Queryable, accountId: string, key: string): Promise<string | undefined> {
  return (await jobOfKey(db, accountId, key))?.id;
}

const given = [
  'id',
  'account_id',
  'type',
  'idempotency_key',
  'image_url',
  'created_at',
] as const satisfies readonly (keyof JobRow)[];

/** A row whose times the database may have to work out. */
type WrittenJob = Omit<JobRow, 'created_at' | 'finished_at'> & { created_at: Time; finished_at: Time | null };

export type NewJob = Pick<WrittenJob, (typeof given)[number]> & Partial<WrittenJob>;

const blank: Omit<JobRow, (typeof given)[number]> = {
  turn: 0,
  status: 'PENDING',
  progress: 0,
  error_code: null,
  error_message: null,
  model_key: null,
  thumbnail_key: null,
  finished_at: null,
  attempt: 0,
  lease_token: null,
  lease_expires_at: null,
  runner: null,
  prepared: 0,
  stage_ms: null,
  bundle: null,
  taken_over: 0,
  trace_id: null,
};

const columns = [...given, ...(Object.keys(blank) as (keyof typeof blank)[])];

const insertRow = prepared((db, ...values: readonly unknown[]) =>
  db
    .insertInto('jobs')
    .values(Object.fromEntries(columns.map((column, index) => [column, values[index]])) as unknown as JobRow)
    .onConflict((conflict) => conflict.doNothing())
    .returning('id'),
);

/** Inserts a job as given, or returns undefined when the account already has one with the same idempotency key. */
export async function insertJob(db: Queryable, job: NewJob): Promise<WrittenJob | undefined> {
  const row: WrittenJob = { ...blank, ...job };
  const inserted = await insertRow(db, ...columns.map((column) => row[column]));
  return inserted && row;
}

const queued = columns.filter((column) => column !== 'turn');

const insertInTurn = prepared((db, accountId: string, maxOpenJobs: number, ...values: readonly unknown[]) =>
  db
    .insertInto('jobs')
    .columns([...queued, 'turn'])
    .expression(
      db
        .selectNoFrom([
          ...queued.map((column, index) => sql`${values[index]}`.as(column)),
          nextTurn(db, accountId).as('turn'),
        ])
        .where(openJobs(db, accountId, maxOpenJobs), '<', maxOpenJobs),
    )
    .onConflict((conflict) => conflict.doNothing())
    .returning('turn'),
);

/**
 * Puts a job into the queue, in its account's turn. Returns undefined when the account already has one with the same
 * idempotency key, or `maxOpenJobs` unfinished ones. Must run in a transaction, which holds the account's row to its end.
 */
export async function enqueueJob(trx: Queryable, job: NewJob, maxOpenJobs: number): Promise<WrittenJob | undefined> {
  await lockTurns(trx, job.account_id);
  const row: WrittenJob = { ...blank, ...job };
  const inserted = await insertInTurn(trx, row.account_id, maxOpenJobs, ...queued.map((column) => row[column]));
  return inserted && { ...row, turn: inserted.turn };
}
