import { type CreateJobRequest, isImageTo3d, labelOfUrl, limits, parseImageDataUri, progress } from '@gen3d/schema';
import { type PhotoSide, photoSides, type SamplerSettings } from '@gen3d/schema/rules';
import { newUlid } from '../../base/ids.js';
import { type MicroUsd, toMicroUsd } from '../../base/money.js';
import {
  type countJobsWithoutModel,
  jobsOfToday,
  quotas,
  tooManyToday,
  tooManyWithoutModel,
} from '../accounts/quotas.js';
import { compiledOnce, type Parameters } from '../db/compiled-once.js';
import type { Db, Queryable } from '../db/database.js';
import type { GroupCommit } from '../db/group-commit.js';
import type { Time } from '../db/time.js';
import { mayBeCommitted } from '../db/unavailable.js';
import type { InputStore } from '../inputs/input-store.js';
import { packReceived } from '../inputs/stored-image.js';
import { recordTaskUpdated } from '../webhooks/events.js';
import { truncatedType, unsupportedType } from './failures.js';
import { storedOptions } from './job-options.js';
import {
  enqueueJob,
  findByOrigin,
  initialState,
  insertJob,
  type JobOrigin,
  labelColumns,
  type NewJob,
  storedKey,
} from './job-store.js';
import { type JobPhoto, photoColumns } from './photos.js';
import { availableBalance } from './reservations.js';
import { countOpenJobs } from './turn.js';

// Creates jobs. Once a request has its 202, the job, its first event and its image survive `kill -9`: the image is
// stored first, then one transaction writes the row and the event. An image without a row is swept; a row without an
// image could never run. The order of the checks is the contract's: a repeated idempotency key returns its job whatever
// the balance, and a refused job writes nothing. Concurrent requests share a commit, which costs each of them some
// milliseconds and saves a wait for the disk: 20 POSTs at once take 61 ms instead of 357.

/** The balance is below the minimum, so no job is started. */
export class InsufficientBalanceError extends Error {
  override readonly name = 'InsufficientBalanceError';
  readonly balance: MicroUsd;

  /** `balance` is what unfinished jobs have not reserved. */
  constructor(balance: MicroUsd, isReserved = false) {
    const advice = 'Wait until some of your unfinished jobs are done, or add credit';
    super(
      isReserved
        ? `The balance, without what unfinished jobs are expected to cost, is below the minimum for starting a job. ${advice}`
        : 'The balance is below the minimum for starting a job',
    );
    this.balance = balance;
  }
}

/** The account has reached its limit of unfinished jobs. */
export class TooManyOpenJobsError extends Error {
  override readonly name = 'TooManyOpenJobsError';
}

/** A new job's photo: either a URL to fetch it from, or a function that stores it. */
export interface NewPhoto extends JobPhoto {
  /**
   * Puts it into the input store under the job's id, and returns whether it is prepared. Called only if the account may
   * create the job.
   */
  readonly store?: (jobId: string) => Promise<boolean>;
}

/** Creating a job needs these stores, limits and estimates. */
export interface JobStores {
  db: Db;
  inputs: InputStore;
  commits: GroupCommit;
  maxOpenJobs: number;
  maxJobsPerDay: number;
  /** Days for which the photos of finished jobs are kept. */
  keepPhotosDays: number;
  /** Returns the expected charge of a job; see reservations.ts. */
  estimate: () => Promise<MicroUsd>;
  withoutModel: ReturnType<typeof countJobsWithoutModel>;
}

export interface AcceptedJob {
  id: string;
  /** False if the account already has a job with the idempotency key. */
  created: boolean;
}

/** Returns the URLs and data URIs of the photos in a request, first that of the front. */
function urlsIn(request: CreateJobRequest): { side: PhotoSide; url: string }[] {
  // The input of an unsupported type has an unknown form, and its job will fail anyway.
  if (!isImageTo3d(request)) return [];
  const { image_urls, views } = request.input;
  const urls = { ...views, front: image_urls[0] }; // the schema allows exactly one
  return photoSides.flatMap((side) => (urls[side] === undefined ? [] : { side, url: urls[side] }));
}

function photosIn(request: CreateJobRequest, inputs: InputStore): NewPhoto[] {
  return urlsIn(request).map(({ side, url }) => {
    const inline = parseImageDataUri(url);
    if (!('base64' in inline)) return { side, url };
    const store = async (jobId: string) => {
      await inputs.put(jobId, side, packReceived(Buffer.from(inline.base64, 'base64')));
      return false;
    };
    return { side, url: null, store };
  });
}

/** Fields of a new job that are not part of the request's body. */
export interface JobExtras {
  traceId?: string | null | undefined;
  /** See `cleanLabel`. Default: the last part of the image's URL, if it has one. */
  label?: string | null | undefined;
  sampler?: SamplerSettings | undefined;
}

/** Accepts a job and returns its id. A repeated idempotency key gives the id of the first job. See `storeNewJob`. */
export function createJob(
  stores: JobStores,
  accountId: string,
  request: CreateJobRequest,
  now: Time,
  extras: JobExtras = {},
): Promise<AcceptedJob> {
  const { type, idempotency_key: key = null } = request;
  const photos = photosIn(request, stores.inputs);
  return storeNewJob(stores, accountId, { type, key, photos, options: storedOptions(request.options), ...extras }, now);
}

interface NewJobDetails extends JobExtras, JobOrigin {
  type: string;
  /** `JobOptions` as JSON. */
  options: string | null;
  /** The first is that of the front. */
  photos: readonly NewPhoto[];
}

/**
 * Accepts a job and returns its id. Once this resolves, the image is stored and the row committed, so the job survives
 * a crash.
 * @throws {InsufficientBalanceError}
 * @throws {TooManyOpenJobsError}
 * @throws {QuotaError}
 */
export async function storeNewJob(
  { db, inputs, commits, maxOpenJobs, maxJobsPerDay, estimate, withoutModel }: JobStores,
  accountId: string,
  { type, key: givenKey = null, retryOf = null, photos, traceId = null, label, sampler, options }: NewJobDetails,
  now: Time,
): Promise<AcceptedJob> {
  const key = storedKey(givenKey);
  const earlier = () => findByOrigin(db, accountId, { key, retryOf });
  const tooMany = () => new TooManyOpenJobsError(`Account ${accountId} has ${maxOpenJobs} unfinished jobs`);
  const reserved = await estimate();
  const minBalance = toMicroUsd(limits.minBalanceUsd);
  const found = await accountOf(db, {
    accountId,
    now,
    ...(retryOf === null ? { key } : { retryOf }),
    ...(reserved > 0 && { reserved }),
  });
  const [account] = found.rows;
  if (!account) throw new Error(`Account ${accountId} does not exist`);
  const { balance, available = balance } = account;
  // Checked before the balance: a repeat must return the existing job whatever the balance.
  if (account.earlier !== null) return { id: account.earlier, created: false };
  if (available < minBalance) throw new InsufficientBalanceError(available, available < balance);
  // The transaction decides. This check only keeps the images of refused jobs from being written.
  if (
    photos.some(({ store }) => store) &&
    account.openAtMost >= maxOpenJobs &&
    (await countOpenJobs(db, accountId)) >= maxOpenJobs
  )
    throw tooMany();
  if (account.today >= maxJobsPerDay) throw tooManyToday(maxJobsPerDay);
  if ((await withoutModel(accountId)) >= quotas.jobsWithoutModel) throw tooManyWithoutModel();

  const id = newUlid();
  // Stored before the row: a job without its images could never run, but images without a job are swept.
  const stored = await storePhotos(inputs, photos, id);
  const job = {
    id,
    account_id: accountId,
    type: truncatedType(type),
    idempotency_key: key,
    retry_of: retryOf,
    ...photoColumns(photos),
    created_at: now,
    trace_id: traceId,
    prepared: stored.arePrepared ? 1 : 0,
    reserved_microusd: reserved,
    sampler: sampler ? JSON.stringify(sampler) : null,
    options,
    ...labelColumns(label ?? defaultLabel(photos)),
  };
  const inserted = await commits
    .run((trx) => insertWithEvent(trx, job, { maxOpenJobs, maxJobsPerDay }), accountId)
    .catch(async (error: unknown) => {
      // If only the acknowledgment of the COMMIT was lost, the job exists and needs the image; the sweep checks later.
      if (!mayBeCommitted(error)) await stored.remove();
      throw error;
    });
  if (inserted) return { id, created: true };
  // A concurrent request of the same origin won, the balance is reserved, or the account has too many open jobs.
  await stored.remove();
  const winner = await earlier().executeTakeFirst();
  if (winner) return { id: winner.id, created: false };
  if (reserved > 0) {
    const left = await db.selectNoFrom(availableBalance(db, accountId).as('balance')).executeTakeFirstOrThrow();
    if (left.balance < minBalance) throw new InsufficientBalanceError(left.balance, true);
  }
  throw tooMany();
}

const defaultLabel = ([front]: readonly NewPhoto[]) => (front?.url ? labelOfUrl(front.url) : null);

/** Stores the photos that are not fetched. `remove` removes them again. */
async function storePhotos(inputs: InputStore, photos: readonly NewPhoto[], jobId: string) {
  const remove = async () => photos.some(({ store }) => store) && (await inputs.remove(jobId));
  let arePrepared = photos.length > 0;
  try {
    for (const { store } of photos) arePrepared = ((await store?.(jobId)) ?? false) && arePrepared;
  } catch (error) {
    await remove();
    throw error;
  }
  return { arePrepared, remove };
}

/** Inserts a job with its first event, so a job with a 202 never lacks it. Returns whether it inserted the job. */
async function insertWithEvent(
  trx: Queryable,
  job: NewJob,
  max: Pick<JobStores, 'maxOpenJobs' | 'maxJobsPerDay'>,
): Promise<boolean> {
  const eventTime = await enqueueJob(trx, job, max);
  if (eventTime === undefined) return false;
  const { id, account_id, created_at } = job;
  await recordTaskUpdated(trx, { ...initialState, id, account_id }, created_at, eventTime);
  return true;
}

interface AccountQuery extends JobOrigin {
  accountId: string;
  now: Time;
  /** Asks for the balance that unfinished jobs have not reserved. */
  reserved?: MicroUsd;
}

/** Reads what decides whether the account may create a job. */
const accountOf = compiledOnce((db, parameter: Parameters<AccountQuery>, given) => {
  const accountId = parameter('accountId');
  const origin = given.includes('retryOf') ? { retryOf: parameter('retryOf') } : { key: parameter('key') };
  return db
    .selectFrom('accounts')
    .select(['balance_microusd as balance', 'open_at_most as openAtMost', jobsOfToday(parameter('now')).as('today')])
    .select(findByOrigin(db, accountId, origin).as('earlier'))
    .$if(given.includes('reserved'), (query) => query.select(availableBalance(db, accountId).as('available')))
    .where('id', '=', accountId);
});

export interface Sample {
  modelKey: string;
  thumbnailKey: string;
}

/** Creates a job of the public test key: finished immediately, with the sample model, and free. */
export async function createSandboxJob(
  db: Db,
  accountId: string,
  request: CreateJobRequest,
  sample: Sample,
  now: Time,
): Promise<string> {
  const key = storedKey(request.idempotency_key ?? null);
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
    type: truncatedType(request.type),
    idempotency_key: key,
    ...photoColumns(urlsIn(request).map(({ side }) => ({ side, url: null }))),
    created_at: now,
    finished_at: now,
    ...outcome,
  });
  const jobId = (job ?? (await findByOrigin(db, accountId, { key }).executeTakeFirst()))?.id;
  if (!jobId) throw new Error(`Sandbox job ${id} was neither inserted nor a repeat`);
  return jobId;
}
