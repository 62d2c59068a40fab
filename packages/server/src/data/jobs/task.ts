import { jobType, type Task } from '@gen3d/schema';
import { isoTime } from '../../base/time.js';
import type { JobRow } from '../db/tables.js';

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
