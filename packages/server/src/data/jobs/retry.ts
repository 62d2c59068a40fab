import { type JobStatus, jobType } from '@gen3d/schema';
import type { SamplerSettings } from '@gen3d/schema/rules';
import { sql } from 'kysely';
import { dayMs } from '../../base/time.js';
import { quotas } from '../accounts/quotas.js';
import type { Queryable } from '../db/database.js';
import type { JobRow } from '../db/tables.js';
import { after, currentTime, type Time } from '../db/time.js';
import { type InputStore, UnreadableImageError } from '../inputs/input-store.js';
import { type AcceptedJob, type JobStores, type NewPhoto, storeNewJob } from './create.js';
import { photosOf } from './photos.js';

// The photos of finished jobs are kept for `keepPhotosDays`, to show them and to make another model of them. Only an
// account's newest jobs with each status keep them.

type FinishedJob = Pick<JobRow, 'type' | 'status' | 'prepared' | 'finished_at'>;

/** Whether the server may still have the photo of a finished job. The sample of the public test key has none. */
export const canRetry = ({ type, status, prepared, finished_at }: FinishedJob, keepPhotosDays: number): boolean =>
  type === jobType &&
  (status !== 'SUCCEEDED' || prepared === 1) &&
  (finished_at ?? 0) > Date.now() - keepPhotosDays * dayMs;

/** Whether the photos of a job are needed: to finish the job, or to make another model of them. */
export async function needsInput(db: Queryable, jobId: string, keepPhotosDays: number): Promise<boolean> {
  const job = await db
    .selectFrom('jobs')
    .select(['account_id', 'status', 'finished_at'])
    .where('id', '=', jobId)
    .where(sql<boolean>`(finished_at is null or finished_at > ${after(currentTime(db), -keepPhotosDays * dayMs)})`)
    .executeTakeFirst();
  if (!job || job.finished_at === null) return job !== undefined;
  // Does not compare times, because the clock may have been ahead when the job finished.
  if (keepPhotosDays === 0) return false;
  const oldest = await newestOf(db, job.account_id, job.status, quotas.keptPhotos);
  return oldest === undefined || jobId >= oldest;
}

/**
 * Called when the job `id` gets this status. Only the newest jobs with the status keep their photos and URLs, so this
 * forgets those of the job that is now one too many, and returns its id: its photos can be deleted. Must run in the
 * transaction that ends the job, after its event, which locks the account's row: otherwise two concurrent transactions
 * would find the same job, and keep the photos of another.
 */
export async function forgetImage(
  trx: Queryable,
  { id, account_id }: Pick<JobRow, 'id' | 'account_id'>,
  status: Extract<JobStatus, 'SUCCEEDED' | 'FAILED' | 'CANCELED'>,
): Promise<string | undefined> {
  const beyond = await newestOf(trx, account_id, status, quotas.keptPhotos + 1);
  if (beyond === undefined) return undefined;
  // A job that ends after many newer ones is not among the newest.
  const forgotten = id < beyond ? id : beyond;
  // A model without its photos cannot be made again; see `canRetry`.
  const forget = { image_urls: null, ...(status === 'SUCCEEDED' && { prepared: 0 }) };
  await trx.updateTable('jobs').set(forget).where('id', '=', forgotten).execute();
  return forgotten;
}

/** Finds the id of the account's nth newest job with a status. */
async function newestOf(db: Queryable, accountId: string, status: JobStatus, n: number): Promise<string | undefined> {
  const row = await db
    .selectFrom('jobs')
    .select('id')
    .where('account_id', '=', accountId)
    .where('status', '=', status)
    .orderBy('id', 'desc')
    .limit(1)
    .offset(n - 1)
    .executeTakeFirst();
  return row?.id;
}

interface RepeatDetails {
  traceId?: string | undefined;
  /** Settings that replace the job's. */
  sampler?: SamplerSettings | undefined;
  /** The idempotency key, for repeating a job with other settings, or one that has a model. */
  key?: string | undefined;
}

/**
 * Creates a job with the photo, label and settings of a finished one. For a job without a model and with the same
 * settings, repeated calls return the same new job, until that one has failed or was canceled, too. Any other call
 * makes another model beside the first. `unknown`: the account has no such job. `not_retryable`: it is not finished, or
 * its photo is no longer stored.
 * @throws like `storeNewJob`
 */
export async function retryJob(
  stores: JobStores,
  accountId: string,
  jobId: string,
  now: Time,
  { traceId, sampler: changed, key }: RepeatDetails = {},
): Promise<AcceptedJob | 'unknown' | 'not_retryable'> {
  const job = await stores.db
    .selectFrom('jobs')
    .select(['id', 'type', 'status', 'finished_at', 'views', 'image_urls', 'prepared'])
    .select(['label', 'sampler', 'options', 'retry_of'])
    .where('id', '=', jobId)
    .where('account_id', '=', accountId)
    .executeTakeFirst();
  if (!job) return 'unknown';
  if (!canRetry(job, stores.keepPhotosDays)) return 'not_retryable';
  const { id, type, status, label, options, retry_of: retryOf } = job;
  const sampler = changed ?? (job.sampler === null ? undefined : (JSON.parse(job.sampler) as SamplerSettings));
  const origin = changed || status === 'SUCCEEDED' ? { key: key ?? null } : { retryOf: retryOf ?? id };
  const details = { type, ...origin, photos: storedPhotos(stores.inputs, job), label, sampler, options, traceId };
  return storeNewJob(stores, accountId, details, now).catch((error: unknown) => {
    if (error instanceof UnreadableImageError && error.isMissing) return 'not_retryable';
    throw error;
  });
}

type StoredJob = Pick<JobRow, 'id' | 'views' | 'image_urls' | 'prepared'>;

/** Returns the job's photos for a new job. `store` throws an UnreadableImageError if nothing has the image any more. */
function storedPhotos(inputs: InputStore, job: StoredJob): NewPhoto[] {
  const isPrepared = job.prepared === 1;
  return photosOf(job).map(({ side, url }) => {
    if (url !== null && !isPrepared) return { side, url };
    const store = async (newId: string) => {
      try {
        await inputs.copy(job.id, side, newId);
        return isPrepared;
      } catch (error) {
        if (url === null) throw error;
        return false;
      }
    };
    return { side, url, store };
  });
}
