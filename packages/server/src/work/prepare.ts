import { jobType, progress } from '@gen3d/schema';
import { FairShares } from '../base/fair-shares.js';
import { newUlid } from '../base/ids.js';
import { currentTime } from '../data/db/time.js';
import { claimForPreparation, everyAccount, type PreparationClaim } from '../data/jobs/claim.js';
import { JobFailure, unsupportedType } from '../data/jobs/failures.js';
import { finishPreparation, maxAttempts } from '../data/jobs/lifecycle.js';
import { type ActiveJob, type ActiveJobs, aboutJob, type Opening, type WorkContext } from './active-jobs.js';
import { fetchImage } from './preparation/fetch-image.js';
import { type Fetch, FetchSlots, slowHost } from './preparation/fetch-slots.js';
import { GaveWayError } from './stage-failures.js';

// Prepares jobs: PENDING 5 while an image is fetched and decoded, then QUEUED 25. Untrusted images are decoded in child
// processes only, and what they return, a PNG of at most 2048 pixels a side, is the only image that inference decodes.
// Several jobs are prepared at a time, each under its own lease, in queue order and not far ahead. Inline images and
// fetches have slots of their own, shared by accounts, so a slow host delays only its own jobs.

/** Maximum number of prepared jobs per slot: enough to keep runners busy, without filling the disk. */
const preparedPerSlot = 2;

/** The first stage of jobs: fetches and decodes their images, and stores the result. */
export class Preparation {
  readonly #context: WorkContext;
  readonly #jobs: ActiveJobs;
  readonly #name = newUlid();
  readonly #inline: FairShares;
  readonly #remote: FetchSlots;

  constructor(context: WorkContext, jobs: ActiveJobs) {
    const { preparations } = context.config;
    this.#context = context;
    this.#jobs = jobs;
    this.#inline = new FairShares(preparations);
    this.#remote = new FetchSlots(preparations);
  }

  /** Returns how the next job can start, or undefined if it has to wait for a slot. */
  opening(): Opening | undefined {
    const { db, config } = this.#context;
    const inline = this.#inline.free > 0 ? this.#inline.exhausted() : everyAccount;
    const remote = this.#remote.exhausted;
    if (inline === everyAccount && remote === everyAccount) return undefined;
    const skipped: PreparationClaim['skipped'] = { inline, remote };
    const ask = { runner: this.#name, leaseMs: config.leaseSeconds * 1_000, skipped };
    const maxPrepared = preparedPerSlot * config.preparations;
    return {
      holder: this.#name,
      claim: () => claimForPreparation(db, { ...ask, maxPrepared, now: currentTime(db) }),
      work: (held) => this.#work(held),
    };
  }

  async #work(held: ActiveJob): Promise<void> {
    const { account_id, image_url } = held.job;
    const fetch = image_url === null ? undefined : this.#remote.start(account_id, () => giveWay(held));
    if (!fetch) this.#inline.take(account_id);
    try {
      await this.#prepare(held, fetch);
    } finally {
      if (fetch) this.#remote.end(fetch);
      else this.#inline.giveBack(account_id);
    }
  }

  async #prepare(held: ActiveJob, fetch: Fetch | undefined): Promise<void> {
    const { db, inputs, files, children, onEvent, onPrepared, log } = this.#context;
    const { job, abort } = held;
    if (job.type !== jobType) throw unsupportedType(job.type);
    await this.#jobs.advance(job, 'PENDING', progress.preparing);
    const startedAt = performance.now();
    const image = await this.#load(held, fetch);
    const prepared = await children.decode(image, job.account_id, abort.signal);
    abort.signal.throwIfAborted();
    await files.limit('storing the prepared image', inputs.replace(job.id, prepared));
    const prepareMs = Math.round(performance.now() - startedAt);
    abort.signal.throwIfAborted();
    await this.#jobs.whenAvailable(() => finishPreparation(db, job.lease, prepareMs, currentTime(db)));
    onEvent();
    onPrepared();
    log.debug({ ...aboutJob(job), prepareMs }, 'job prepared');
  }

  async #load({ job, abort: { signal } }: ActiveJob, fetch: Fetch | undefined): Promise<Uint8Array> {
    const { inputs, files, dispatcher } = this.#context;
    if (!fetch || job.image_url === null) return files.limit('reading the input', inputs.read(job.id));
    const image = await fetchImage(job.image_url, {
      dispatcher,
      signal,
      onLength: (bytes) => this.#remote.announced(fetch, bytes),
      onBytes: (bytes) => fetch.received(bytes),
    });
    fetch.complete();
    return image;
  }
}

/** Ends a slow fetch. The attempt counts, so a host that never responds cannot keep its job open. */
function giveWay({ job, abort }: ActiveJob): void {
  abort.abort(job.attempt < maxAttempts ? new GaveWayError() : new JobFailure('image_fetch_failed', slowHost));
}
