import { type CreateJobRequest, isImageTo3d, limits, parseImageDataUri, progress } from '@gen3d/schema';
import { newUlid } from '../../base/ids.js';
import { type MicroUsd, toMicroUsd } from '../../base/money.js';
import { balanceOf } from '../accounts/ledger.js';
import type { GroupCommit } from '../db/group-commit.js';
import type { Db } from '../db/open.js';
import type { Time } from '../db/time.js';
import { mayBeCommitted } from '../db/unavailable.js';
import type { InputStore } from '../inputs/input-store.js';
import { recordTaskUpdated } from '../webhooks/outbox.js';
import { keptType, unsupportedType } from './failures.js';
import { enqueueJob, findByIdempotencyKey, insertJob } from './job-store.js';

/** The balance is below the minimum, so no job is started. */
export class InsufficientBalanceError extends Error {
  override readonly name = 'InsufficientBalanceError';
  constructor(readonly balance: MicroUsd) {
    super('The balance is below the minimum for starting a job');
  }
}

/** The account has as many unfinished jobs as it may have. */
export class TooManyOpenJobsError extends Error {
  override readonly name = 'TooManyOpenJobsError';
}

interface PhotoSource {
  /** Where to fetch the photo, or null. */
  url: string | null;
  /** The photo itself, when it came with the request. */
  bytes?: Buffer;
}

function photoSource(request: CreateJobRequest): PhotoSource {
  // A reserved type's input is nothing we know how to read, and it will fail anyway.
  if (!isImageTo3d(request)) return { url: null };
  const [url] = request.input.image_urls as [string]; // the schema has counted them
  const inline = parseImageDataUri(url);
  return 'base64' in inline ? { url: null, bytes: Buffer.from(inline.base64, 'base64') } : { url };
}

/**
 * Accepts a job and returns its id; the same idempotency key again returns the first job's.
 * When this resolves the job survives a crash: its photo is on the disk and its row committed.
 * @throws {InsufficientBalanceError}
 * @throws {TooManyOpenJobsError}
 */
export async function createJob(
  { db, inputs, commits, maxOpenJobs }: { db: Db; inputs: InputStore; commits: GroupCommit; maxOpenJobs: number },
  accountId: string,
  request: CreateJobRequest,
  now: Time,
  traceId: string | null = null,
): Promise<{ id: string; created: boolean }> {
  const key = request.idempotency_key ?? null;
  // Before the balance: a repeat must learn about the job it already has, however little money is left.
  const earlier = key === null ? undefined : await findByIdempotencyKey(db, accountId, key);
  if (earlier) return { id: earlier, created: false };
  const balance = await balanceOf(db, accountId);
  if (balance < toMicroUsd(limits.minBalanceUsd)) throw new InsufficientBalanceError(balance);

  const photo = photoSource(request);
  const id = newUlid();
  // Before the row: a job without its photo could never run, while a photo without a job is swept away.
  if (photo.bytes) await inputs.put(id, photo.bytes);
  // One transaction: a 202 whose event was lost would leave a webhook user without it for good.
  const inserted = await commits
    .run(async (trx) => {
      const row = {
        id,
        account_id: accountId,
        type: keptType(request.type),
        idempotency_key: key,
        image_url: photo.url,
        created_at: now,
        trace_id: traceId,
      };
      const job = await enqueueJob(trx, row, maxOpenJobs);
      if (job) await recordTaskUpdated(trx, job, now);
      return job;
    }, accountId)
    .catch(async (error: unknown) => {
      // Without the acknowledgement of a COMMIT, a job may refer to the image: the sweep asks the database later.
      if (photo.bytes && !mayBeCommitted(error)) await inputs.remove(id);
      throw error;
    });
  if (inserted) return { id, created: true };
  // The same key came twice concurrently and the other request won, or the account has too many open jobs.
  if (photo.bytes) await inputs.remove(id);
  const winner = key === null ? undefined : await findByIdempotencyKey(db, accountId, key);
  if (!winner) throw new TooManyOpenJobsError(`account ${accountId} has ${maxOpenJobs} unfinished jobs`);
  return { id: winner, created: false };
}

export interface Sample {
  modelKey: string;
  thumbnailKey: string;
}

/** A job of the public test key: finished when it is created, with the fixed sample model, for nothing. */
export async function createSandboxJob(
  db: Db,
  accountId: string,
  request: CreateJobRequest,
  sample: Sample,
  now: Time,
): Promise<string> {
  const key = request.idempotency_key ?? null;
  const outcome = isImageTo3d(request)
    ? {
        status: 'SUCCEEDED' as const,
        progress: progress.done,
        model_key: sample.modelKey,
        thumbnail_key: sample.thumbnailKey,
      }
    : {
        status: 'FAILED' as const,
        error_code: unsupportedType(request.type).code,
        error_message: unsupportedType(request.type).message,
      };
  const id = newUlid();
  const job = await insertJob(db, {
    id,
    account_id: accountId,
    type: keptType(request.type),
    idempotency_key: key,
    image_url: null,
    created_at: now,
    finished_at: now,
    ...outcome,
  });
  const jobId = job?.id ?? (key === null ? undefined : await findByIdempotencyKey(db, accountId, key));
  if (!jobId) throw new Error(`sandbox job ${id} was neither inserted nor a repeat`);
  return jobId;
}
