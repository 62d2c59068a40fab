import { jobType, type Task, type TaskUpdatedEvent } from '@gen3d/schema';
import { isoTime } from '../../base/time.js';
import type { JobEventRow, JobRow } from '../db/tables.js';

/** Queries for task objects select only these columns, because a row may also contain a very long image URL. */
export const taskColumns = [
  'id',
  'status',
  'progress',
  'error_code',
  'error_message',
  'model_key',
  'thumbnail_key',
  'created_at',
  'finished_at',
] as const satisfies readonly (keyof JobRow)[];

export type TaskRow = Pick<JobRow, (typeof taskColumns)[number]>;

export const assetUrl = (assetsUrl: string, key: string): string => `${assetsUrl}/${key}`;

/** Builds the task object of a job. URLs are built on each read, so they are correct after a server moves. */
export function toTask(job: TaskRow, assetsUrl: string): Task {
  return {
    task_id: job.id,
    type: jobType,
    status: job.status,
    progress: job.progress,
    model_urls: job.model_key === null ? null : { glb: assetUrl(assetsUrl, job.model_key) },
    thumbnail_url: job.thumbnail_key === null ? null : assetUrl(assetsUrl, job.thumbnail_key),
    error: job.error_code === null ? null : { code: job.error_code, message: job.error_message ?? '' },
    created_at: isoTime(job.created_at),
    finished_at: job.finished_at === null ? null : isoTime(job.finished_at),
  };
}

/** Builds the event that reports a change of a job (docs/contract.md section 6.1). */
export function toTaskUpdated(row: JobEventRow, assetsUrl: string): TaskUpdatedEvent {
  const { model_key, thumbnail_key, error_code, error_message } = row;
  return {
    event: 'task.updated',
    event_id: row.event_id,
    user_id: row.account_id,
    timestamp: isoTime(row.created_at),
    task_id: row.job_id,
    type: jobType,
    status: row.status,
    progress: row.progress,
    ...(model_key === null ? {} : { model_urls: { glb: assetUrl(assetsUrl, model_key) } }),
    ...(thumbnail_key === null ? {} : { thumbnail_url: assetUrl(assetsUrl, thumbnail_key) }),
    ...(error_code === null ? {} : { error: { code: error_code, message: error_message ?? '' } }),
  };
}

/** Returns a finished job's state as an event, whose id is that of the job. */
export function stateEvent({ id, created_at, finished_at, ...state }: TaskRow, accountId: string): JobEventRow {
  const about = { event: 'task.updated' as const, event_id: id, account_id: accountId, job_id: id };
  return { ...state, ...about, created_at: finished_at ?? created_at };
}
