import { type JobStatus, jobType } from '@gen3d/schema';
import type { SamplerSettings } from '@gen3d/schema/rules';
import { dayMs } from '../../base/time.js';
import { quotas } from '../accounts/quotas.js';
import type { Queryable } from '../db/open.js';
import type { JobRow } from '../db/tables.js';
import { after, currentTime, type Time } from '../db/time.js';
import { type InputStore, UnreadableImageError } from '../inputs/input-store.js';
import { type AcceptedJob, acceptJob, type JobImage, type JobStores } from './create.js';
import { lockTurns } from './turn.js';

// The photos of jobs without a model are kept for a while, for retries.
const keptMs = 7 * dayMs;

const retriedStatuses: readonly JobStatus[] = ['FAILED', 'CANCELED'];

/** Whether the server may still have the photo of a job without a model. */
export const canRetry = ({ type, status, finished_at }: Pick<JobRow, 'type' | 'status' | 'finished_at'>): boolean =>
  type === jobType && retriedStatuses.includes(status) && (finished_at ?? 0) > Date.now() - keptMs;

/** Whether the image of a job is needed: to finish the job, or to try it again. */
export async function needsInput(db: Queryable, jobId: string): Promise<boolean> {
  const job = await db
    .selectFrom('jobs')
    .select(['account_id', 'status', 'finished_at'])
    .where('id', '=', jobId)
    .where((eb) => eb.or([eb('finished_at', 'is', null), eb('finished_at', '>', after(currentTime(db), -keptMs))]))
    .executeTakeFirst();
  if (!job) return false;
  if (job.finished_at === null) return true;
  if (!retriedStatuses.includes(job.status)) return false;
  const oldest = await newestOf(db, job.account_id, job.status, quotas.photosForRetries);
  return oldest === undefined || jobId >= oldest;
}

/**
 * Deletes the URL of the job that can no longer be retried after `id` got this status, if there are too many. Returns its
 * id, because its photo can be deleted, too. Must run in the transaction that ends the job: otherwise two concurrent
 * transactions would find the same job, and keep the photo of another.
 */
export async function forgetImage(
  trx: Queryable,
  { id, account_id }: Pick<JobRow, 'id' | 'account_id'>,
  status: 'FAILED' | 'CANCELED',
): Promise<string | undefined> {
  await lockTurns(trx, account_id);
  const beyond = await newestOf(trx, account_id, status, quotas.photosForRetries + 1);
  if (beyond === undefined) return undefined;
  // A job that ends after many newer ones is not among the newest.
  const forgotten = id < beyond ? id : beyond;
  await trx.updateTable('jobs').set({ image_url: null }).where('id', '=', forgotten).execute();
  return forgotten;
}

/** The id of the account's nth newest job with a status. */
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

/**
 * Creates a job with the photo, label and settings of one that failed or was canceled. Repeated calls return the same job, until that
 * has failed or was canceled too. `unknown`: the account has no such job. `not_retryable`: it has another status, or its
 * photo is no longer stored.
 * @throws like `acceptJob`
 */
export async function retryJob(
  stores: JobStores,
  accountId: string,
  jobId: string,
  now: Time,
  traceId: string | undefined,
): Promise<AcceptedJob | 'unknown' | 'not_retryable'> {
  const job = await stores.db
    .selectFrom('jobs')
    .select(['id', 'type', 'status', 'finished_at', 'image_url', 'prepared', 'label', 'sampler', 'retry_of'])
    .where('id', '=', jobId)
    .where('account_id', '=', accountId)
    .executeTakeFirst();
  if (!job) return 'unknown';
  if (!canRetry(job)) return 'not_retryable';
  const { id, type, label, retry_of: retryOf } = job;
  const sampler = job.sampler === null ? undefined : (JSON.parse(job.sampler) as SamplerSettings);
  const details = { type, retryOf: retryOf ?? id, image: imageOf(stores.inputs, job), label, sampler, traceId };
  return acceptJob(stores, accountId, details, now).catch((error: unknown) => {
    if (error instanceof UnreadableImageError && error.isMissing) return 'not_retryable';
    throw error;
  });
}

type StoredJob = Pick<JobRow, 'id' | 'image_url' | 'prepared'>;

/** Storing it throws an UnreadableImageError if the job came with its image, which is no longer stored. */
function imageOf(inputs: InputStore, { id, image_url: url, prepared }: StoredJob): JobImage {
  if (url !== null && prepared === 0) return { url };
  const store = async (newId: string) => {
    try {
      await inputs.copy(id, newId);
      return { isPrepared: prepared === 1 };
    } catch (error) {
      if (url === null) throw error;
      return { isPrepared: false };
    }
  };
  return { url, store };
}
