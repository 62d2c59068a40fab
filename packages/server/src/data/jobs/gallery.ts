import { canMove, isTerminal, type JobStatus, jobStatuses } from '@gen3d/schema';
import type { GalleryCounts, GalleryJob, JobGroup } from '@gen3d/schema/dashboard';
import { type JobEstimate, readRealSize } from '@gen3d/schema/rules';
import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely';
import { maxRowsRead } from '../db/bounds.js';
import type { Queryable } from '../db/database.js';
import { containing, startingWith } from '../db/like.js';
import type { JobRow, Tables } from '../db/tables.js';
import { foldLabel } from './job-store.js';
import { viewsOf } from './photos.js';
import { canRetry } from './retry.js';
import { stagesOf } from './stage-times.js';
import { taskColumns, toTask } from './task.js';

const statusesOf: Record<JobGroup, readonly JobStatus[]> = {
  in_progress: jobStatuses.filter((status) => !isTerminal(status)),
  done: ['SUCCEEDED'],
  failed: ['FAILED', 'CANCELED'],
};

/** Counting stops here, to limit the cost for accounts with many jobs. */
const maxCount = 1_000;
const flagsOf = { visible: [0], hidden: [1], all: [0, 1] } as const;

const columns = [
  ...taskColumns,
  'type',
  'photo_kept',
  'label',
  'label_folded',
  'hidden',
  'options',
  'stage_ms',
  'warnings',
  'views',
  'share_token',
] as const;
export type GalleryRow = Pick<JobRow, (typeof columns)[number]> & {
  inference_ms: number | null;
};

export interface GalleryQuery {
  /** A part of the label in any case, or the start of an id. */
  search?: string | undefined;
  /** Selects jobs whose ids start with this. */
  id?: string | undefined;
  group?: JobGroup | undefined;
  status?: JobStatus | undefined;
  visibility: keyof typeof flagsOf;
  sort: 'newest' | 'oldest' | 'name';
  limit: number;
  /** Continues after this job, the last of the previous page. The label is used only to sort by name. */
  after?: { id: string; label: string } | undefined;
}

type JobQuery = SelectQueryBuilder<Tables, 'jobs', object>;

const matching = (search: string) =>
  sql<boolean>`(label_folded like ${containing(foldLabel(search))} escape '\\'
    or id like ${startingWith(search.toUpperCase())} escape '\\')`;

/** Selects the account's newest jobs, as many as a query may read if no index leads to its result. */
function newestJobs(db: Queryable, accountId: string): JobQuery {
  const newest = db
    .selectFrom('jobs')
    .select(['id', 'status', 'hidden', 'label_folded'])
    .where('account_id', '=', accountId)
    .orderBy('id', 'desc')
    .limit(maxRowsRead);
  // It has all columns of the table that conditions use.
  return db.selectFrom(newest.as('newest')) as unknown as JobQuery;
}

/** Selects the account's jobs, one query for each status and flag, because an index contains only these in order. */
const jobsInIndex = (db: Queryable, accountId: string, statuses: readonly JobStatus[], flags: readonly number[]) =>
  statuses.flatMap((status) =>
    flags.map(
      (hidden): JobQuery =>
        db
          .selectFrom('jobs')
          .where('account_id', '=', accountId)
          .where('hidden', '=', hidden)
          .where('status', '=', status),
    ),
  );

const unionOf = (queries: readonly RawBuilder<unknown>[]) => sql.join(queries, sql` union all `);

const withGalleryColumns = (query: JobQuery): SelectQueryBuilder<Tables, 'jobs', GalleryRow> =>
  query.select(columns).select((eb) => [
    eb
      .selectFrom('ledger')
      .select('inference_ms')
      .whereRef('ledger.job_id', '=', 'jobs.id')
      // A literal, to match the partial index.
      .where('kind', '=', sql.lit('charge'))
      .as('inference_ms'),
  ]);

/** Orders the jobs as the page shows them, with one more than fit: it shows whether another page follows. */
function ordered(query: JobQuery, { sort, limit }: GalleryQuery): JobQuery {
  const first = sort === 'name' ? query.orderBy('label_folded') : query;
  return first.orderBy('id', sort === 'newest' ? 'desc' : 'asc').limit(limit + 1);
}

function following(query: JobQuery, { sort, after }: GalleryQuery): JobQuery {
  if (!after) return query;
  if (sort === 'name') return query.where(sql<boolean>`(label_folded, id) > (${after.label}, ${after.id})`);
  return query.where('id', sort === 'newest' ? '<' : '>', after.id);
}

/**
 * Lists a page of an account's jobs, and says whether more follow. Searching and sorting by name cover only the newest.
 */
export async function listGallery(
  db: Queryable,
  accountId: string,
  query: GalleryQuery,
): Promise<{ rows: GalleryRow[]; more: boolean }> {
  const { search, id, group, status, visibility, limit } = query;
  const statuses = (status ? [status] : jobStatuses).filter((each) => !group || statusesOf[group].includes(each));
  if (statuses.length === 0) return { rows: [], more: false };
  const flags = flagsOf[visibility];
  const idsIn = (jobs: JobQuery) => {
    // A range instead of LIKE, which uses the index. "~" sorts after all characters of an id.
    const found = id === undefined ? jobs : jobs.where('id', '>=', id).where('id', '<=', `${id}~`);
    return sql`select id from ${ordered(following(found, query), query).select('id')} as some_jobs`;
  };
  let ids: RawBuilder<unknown>;
  if (search !== undefined || query.sort === 'name') {
    const newest = newestJobs(db, accountId).where('status', 'in', statuses).where('hidden', 'in', flags);
    ids = idsIn(search === undefined ? newest : newest.where(matching(search)));
  } else ids = unionOf(jobsInIndex(db, accountId, statuses, flags).map(idsIn));
  const page = ordered(db.selectFrom('jobs').where(sql<boolean>`id in (${ids})`), query);
  const rows = await withGalleryColumns(page).execute();
  return { rows: rows.slice(0, limit), more: rows.length > limit };
}

export function findGalleryJob(db: Queryable, accountId: string, id: string): Promise<GalleryRow | undefined> {
  return withGalleryColumns(db.selectFrom('jobs'))
    .where('id', '=', id)
    .where('account_id', '=', accountId)
    .executeTakeFirst();
}

/** Counts jobs by status. A search counts only the newest ones. */
export async function countGallery(
  db: Queryable,
  accountId: string,
  search: string | undefined,
): Promise<GalleryCounts> {
  const counted =
    search === undefined
      ? jobsInIndex(db, accountId, jobStatuses, flagsOf.all).map((jobs) => jobs.limit(maxCount))
      : [newestJobs(db, accountId).where(matching(search))];
  const counts = counted.map(
    (jobs) =>
      sql`select status, hidden, count(*) as count from ${jobs.select(['status', 'hidden'])} as some_jobs
        group by status, hidden`,
  );
  const { rows } = await sql<{ status: JobStatus; hidden: number; count: number }>`${unionOf(counts)}`.execute(db);
  const count = (hidden: number, statuses: readonly JobStatus[]) => {
    const some = rows.filter((row) => row.hidden === hidden && statuses.includes(row.status));
    return Math.min(maxCount, sum(some.map((row) => row.count)));
  };
  return {
    in_progress: count(0, statusesOf.in_progress),
    done: count(0, statusesOf.done),
    failed: count(0, statusesOf.failed),
    hidden: count(1, jobStatuses),
  };
}

/** Hides or shows jobs. Returns how many of the account's jobs have changed. */
export async function setHidden(
  db: Queryable,
  accountId: string,
  ids: readonly string[],
  hidden: boolean,
): Promise<number> {
  const [before, after] = hidden ? [0, 1] : [1, 0];
  const { numUpdatedRows } = await db
    .updateTable('jobs')
    .set({ hidden: after })
    .where('id', 'in', ids)
    .where('account_id', '=', accountId)
    .where('hidden', '=', before)
    .executeTakeFirstOrThrow();
  return Number(numUpdatedRows);
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
const seconds = (ms: number) => ms / 1_000;

export function toGalleryJob(
  row: GalleryRow,
  assetsUrl: string,
  estimate: JobEstimate,
  keepPhotosDays: number | undefined,
): GalleryJob {
  const stages = row.status === 'SUCCEEDED' ? stagesOf(row.stage_ms) : null;
  return {
    ...toTask(row, assetsUrl),
    label: row.label,
    hidden: row.hidden === 1,
    inference_seconds: row.inference_ms === null ? null : seconds(row.inference_ms),
    work_seconds: stages && seconds(sum(stages.map(({ ms }) => ms))),
    queue_position: estimate.position ?? null,
    stage: estimate.stage ?? null,
    real_size: (row.options !== null && readRealSize(JSON.parse(row.options))) || null,
    views: viewsOf(row),
    warnings: row.warnings === null ? [] : (JSON.parse(row.warnings) as string[]),
    can_cancel: canMove(row.status, 'CANCELED'),
    can_retry: canRetry(row, keepPhotosDays),
    share_path: row.share_token === null ? null : `/share/${row.share_token}`,
  };
}
