import { jobType, limits } from '@gen3d/schema';
import type { PhotoSide } from '@gen3d/schema/rules';
import { newUlid } from '../base/ids.js';
import { type Share, Shares } from '../base/shares.js';
import { currentTime } from '../data/db/time.js';
import { packPixels, unpack } from '../data/inputs/stored-image.js';
import { claimForPreparation, everyAccount, type PreparationClaim, type SkippedAccounts } from '../data/jobs/claim.js';
import { JobFailure, unsupportedType } from '../data/jobs/failures.js';
import { finishPreparation, maxAttempts } from '../data/jobs/lifecycle.js';
import { aboutPhoto, type JobPhoto, photosOf } from '../data/jobs/photos.js';
import { type ActiveJob, type ActiveJobs, aboutJob, type Opening, type WorkContext } from './active-jobs.js';
import { fetchImage } from './preparation/fetch-image.js';
import { GaveWayError, ReleasedError } from './stage-failures.js';

// Prepares jobs: PENDING 5 while an image is fetched and decoded, then QUEUED 25. Untrusted images are decoded in child
// processes only, and what they return, pixels with sides of at most 2048, is what inference gets. A job's photos are
// prepared one after the other, so they share what one photo may take.
// Several jobs are prepared at a time, each under its own lease, in queue order and not far ahead. Accounts share a
// number of inline images, and apart from that, memory for fetched ones, so a slow host delays only its own jobs.

/** Maximum number of prepared jobs per preparation: enough to keep runners busy, without filling the disk. */
const preparedPerSlot = 2;

/** Memory for all fetched images: eight of the largest size. */
const fetchedBytes = 8 * limits.remoteImageBytes;
/** A fetch that has received less than 64 KiB in this time gives way. */
const slowMs = 5_000;

/** Tells a client why its image was not fetched. */
export const slowHost = `The host of the image URL sent less than 64 KiB in ${slowMs / 1_000} s while others were waiting. Try again, or send the image in the request`;

/** Lists the accounts that may not take a share. */
const exhausted = (shares: Shares, amount?: number): SkippedAccounts =>
  shares.mayTake('a newcomer', amount)
    ? shares.holders.filter((account) => !shares.mayTake(account, amount))
    : everyAccount;

/** The share of the memory that a job's fetched images take, one after the other. */
interface Fetch {
  share: Share;
  receivedBytes: number;
  /** The side that the current image shows. */
  side: PhotoSide;
}

/** The first stage of jobs: fetches and decodes their images, and stores the result. */
export class Preparation {
  readonly #context: WorkContext;
  readonly #jobs: ActiveJobs;
  readonly #name = newUlid();
  readonly #inline: Shares;
  readonly #fetches: Shares;
  /** The least that a fetch takes, so that there are not more than the settings permit. */
  readonly #minBytes: number;

  constructor(context: WorkContext, jobs: ActiveJobs) {
    const { preparations } = context.config;
    this.#context = context;
    this.#jobs = jobs;
    this.#inline = new Shares({ total: preparations });
    this.#fetches = new Shares({ total: fetchedBytes, giveWayAfterMs: slowMs });
    this.#minBytes = fetchedBytes / preparations;
  }

  /** Returns how the next job can start, or undefined if it has to wait for a share. */
  opening(): Opening | undefined {
    const { db, config } = this.#context;
    const skipped: Required<PreparationClaim>['skipped'] = {
      inline: exhausted(this.#inline),
      remote: exhausted(this.#fetches, this.#unknownBytes),
    };
    if (skipped.inline === everyAccount && skipped.remote === everyAccount) return undefined;
    const ask = { runner: this.#name, leaseMs: config.leaseSeconds * 1_000, skipped };
    const maxPrepared = preparedPerSlot * config.preparations;
    return {
      holder: this.#name,
      claim: () => claimForPreparation(db, { ...ask, maxPrepared, now: currentTime(db) }),
      work: (held) => this.#work(held),
    };
  }

  /** The bytes that a fetch takes from the budget before the host has announced the length. */
  get #unknownBytes(): number {
    return Math.max(this.#minBytes, limits.remoteImageBytes);
  }

  async #work(held: ActiveJob): Promise<void> {
    const { account_id, image_urls } = held.job;
    const progress: Omit<Fetch, 'share'> = { receivedBytes: 0, side: 'front' };
    const work = { giveWay: () => giveWay(held, progress.side), progress: () => progress.receivedBytes };
    const share =
      image_urls === null ? this.#inline.take(account_id) : this.#fetches.take(account_id, this.#unknownBytes, work);
    // A fetch that would have given way has made progress in the meantime.
    if (!share) throw new ReleasedError();
    // Until the first request.
    share.isKept = true;
    try {
      await this.#prepare(held, image_urls === null ? undefined : Object.assign(progress, { share }));
    } finally {
      share.end();
    }
  }

  async #prepare(held: ActiveJob, fetch: Fetch | undefined): Promise<void> {
    const { onPrepared, log } = this.#context;
    const { job, abort } = held;
    if (job.type !== jobType) throw unsupportedType(job.type);
    const startedAt = performance.now();
    const photos = photosOf(job);
    const lastFetched = photos.findLast(({ url }) => url !== null);
    for (const photo of photos) {
      await this.#preparePhoto(held, photo, fetch, photo === lastFetched).catch((error: unknown) => {
        if (!(error instanceof JobFailure)) throw error;
        throw new JobFailure(error.code, aboutPhoto(error.message, photo.side, job), { cause: error.cause });
      });
    }
    const prepareMs = Math.round(performance.now() - startedAt);
    abort.signal.throwIfAborted();
    await this.#jobs.change(job, (trx, now) => finishPreparation(trx, job.lease, prepareMs, now));
    onPrepared();
    log.debug({ ...aboutJob(job), prepareMs }, 'job prepared');
  }

  async #preparePhoto(
    held: ActiveJob,
    { side, url }: JobPhoto,
    fetch: Fetch | undefined,
    isLastFetched: boolean,
  ): Promise<void> {
    const { inputs, files, children } = this.#context;
    const { job, abort } = held;
    const image =
      fetch && url !== null
        ? await this.#fetch(held, url, Object.assign(fetch, { side }), isLastFetched)
        : unpack(await files.limit('reading the input', inputs.read(job.id, side)));
    // An earlier attempt has prepared it.
    if (!(image instanceof Uint8Array)) return;
    const pixels = await children.decode(image, job.account_id, abort.signal);
    abort.signal.throwIfAborted();
    await files.limit('storing the prepared image', inputs.replace(job.id, side, packPixels(pixels)));
  }

  async #fetch({ abort }: ActiveJob, url: string, fetch: Fetch, isLast: boolean): Promise<Uint8Array> {
    fetch.share.isKept = false;
    fetch.share.restart();
    const image = await fetchImage(url, {
      dispatcher: this.#context.dispatcher,
      signal: abort.signal,
      // Before the last image, the share stays large enough for any that follows.
      onLength: (bytes) => isLast && fetch.share.resize(Math.max(this.#minBytes, bytes)),
      onBytes: (bytes) => {
        fetch.receivedBytes += bytes;
      },
    });
    // Later delays are not the host's fault.
    fetch.share.isKept = true;
    return image;
  }
}

/** Ends a slow fetch. The attempt counts, so a host that never responds cannot keep its job open. */
function giveWay({ job, abort }: ActiveJob, side: PhotoSide): void {
  const failure = new JobFailure('image_fetch_failed', aboutPhoto(slowHost, side, job));
  abort.abort(job.attempt < maxAttempts ? new GaveWayError() : failure);
}
