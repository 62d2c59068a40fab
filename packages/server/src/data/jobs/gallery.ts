import { canMove, isTerminal, type JobStatus, jobStatuses } from '@gen3d/schema';
import type { GalleryCounts, GalleryJob, JobGroup } from '@gen3d/schema/dashboard';
import type { JobEstimate } from '@gen3d/schema/rules';
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

const columns = [...taskColumns, 'type', 'prepared', 'label', 'stage_ms', 'warnings', 'views', 'share_token'] as const;
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
  limit: number;
  /** Continues after this job, the last of the previous page. */
  after?: string | undefined;
}

type JobQuery = SelectQueryBuilder<Tables, 'jobs', object>;

const matching = (search: string) =>
  sql<boolean>`(label_folded like ${containing(foldLabel(search))} escape '\\'
    or id like ${startingWith(search.toUpperCase())} escape '\\')`;

/** Selects the account's newest jobs, as many as a query may read if no index leads to its result. */
function newestJobs(db: Queryable, accountId: string): JobQuery {
  const newest = db
    .selectFrom('jobs')
    .select(['id', 'status', 'label_folded'])
    .where('account_id', '=', accountId)
    .orderBy('id', 'desc')
    .limit(maxRowsRead);
  // It has all columns of the table that conditions use.
  return db.selectFrom(newest.as('newest')) as unknown as JobQuery;
}

/** Selects the account's jobs, one query for each status, because an index contains only these in order. */
const jobsInIndex = (db: Queryable, accountId: string, statuses: readonly JobStatus[]) =>
  statuses.map(
    (status): JobQuery => db.selectFrom('jobs').where('account_id', '=', accountId).where('status', '=', status),
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

/** Selects the newest jobs, one more than fit on a page: it shows whether another page follows. */
const firstOf = (query: JobQuery, limit: number) => query.orderBy('id', 'desc').limit(limit + 1);

/** Lists a page of an account's jobs, newest first, and says whether more follow. A search covers only the newest. */
export async function listGallery(
  db: Queryable,
  accountId: string,
  { search, id, group, status, limit, after }: GalleryQuery,
): Promise<{ rows: GalleryRow[]; more: boolean }> {
  const statuses = (status ? [status] : jobStatuses).filter((each) => !group || statusesOf[group].includes(each));
  if (statuses.length === 0) return { rows: [], more: false };
  const idsIn = (jobs: JobQuery) => {
    // A range instead of LIKE, which uses the index. "~" sorts after all characters of an id.
    const found = id === undefined ? jobs : jobs.where('id', '>=', id).where('id', '<=', `${id}~`);
    const following = after === undefined ? found : found.where('id', '<', after);
    return sql`select id from ${firstOf(following, limit).select('id')} as some_jobs`;
  };
  const ids =
    search === undefined
      ? unionOf(jobsInIndex(db, accountId, statuses).map(idsIn))
      : idsIn(newestJobs(db, accountId).where('status', 'in', statuses).where(matching(search)));
  const page = firstOf(db.selectFrom('jobs').where(sql<boolean>`id in (${ids})`), limit);
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
      ? jobsInIndex(db, accountId, jobStatuses).map((jobs) => jobs.limit(maxCount))
      : [newestJobs(db, accountId).where(matching(search))];
  const counts = counted.map(
    (jobs) => sql`select status, count(*) as count from ${jobs.select('status')} as some_jobs group by status`,
  );
  const { rows } = await sql<{ status: JobStatus; count: number }>`${unionOf(counts)}`.execute(db);
  const count = (group: JobGroup) => {
    const some = rows.filter(({ status }) => statusesOf[group].includes(status));
    return Math.min(maxCount, sum(some.map((row) => row.count)));
  };
  return { in_progress: count('in_progress'), done: count('done'), failed: count('failed') };
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
const seconds = (ms: number) => ms / 1_000;

export function toGalleryJob(
  row: GalleryRow,
  assetsUrl: string,
  estimate: JobEstimate,
  keepPhotosDays: number,
): GalleryJob {
  const stages = row.status === 'SUCCEEDED' ? stagesOf(row.stage_ms) : null;
  return {
    ...toTask(row, assetsUrl),
    label: row.label,
    inference_seconds: row.inference_ms === null ? null : seconds(row.inference_ms),
    work_seconds: stages && seconds(sum(stages.map(({ ms }) => ms))),
    queue_position: estimate.position ?? null,
    stage: estimate.stage ?? null,
    views: viewsOf(row),
    warnings: row.warnings === null ? [] : (JSON.parse(row.warnings) as string[]),
    can_cancel: canMove(row.status, 'CANCELED'),
    can_retry: canRetry(row, keepPhotosDays),
    share_path: row.share_token === null ? null : `/share/${row.share_token}`,
  };
}
