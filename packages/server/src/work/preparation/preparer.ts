import { jobType, progress } from '@gen3d/schema';
import type { Logger } from 'pino';
import type { Dispatcher } from 'undici';
import { FairShares } from '../../base/fair-shares.js';
import type { Db } from '../../data/db/database.js';
import { currentTime } from '../../data/db/time.js';
import type { InputStore } from '../../data/inputs/input-store.js';
import { claimForPreparation, everyAccount, type PreparationClaim } from '../../data/jobs/claim.js';
import { JobFailure, unsupportedType } from '../../data/jobs/failures.js';
import { finishPreparation, maxAttempts } from '../../data/jobs/lifecycle.js';
import type { FromChild } from '../processes/messages.js';
import { type ActiveJob, ActiveJobs, aboutJob } from '../stages/active-jobs.js';
import { Poll } from '../stages/poll.js';
import { GaveWayError, StageTimeoutError, withStageTimeout } from '../stages/stage-failures.js';
import type { DecoderPool } from './decoder-pool.js';
import { fetchImage } from './fetch-image.js';
import { type Fetch, FetchSlots, slowHost } from './fetch-slots.js';

// Prepares jobs: PENDING 5 while an image is fetched and decoded, then QUEUED 25. Untrusted images are decoded in child
// processes only, and what they return, a PNG of at most 2048 pixels a side, is the only image that inference decodes.
// Several jobs are prepared at a time, each under its own lease, in queue order and not far ahead. Inline images and
// fetches have slots of their own, shared by accounts, so a slow host delays only its own jobs.

/** Maximum number of prepared jobs per slot: enough to keep runners busy, without filling the disk. */
const preparedPerSlot = 2;

export interface PreparerOptions {
  /** Names this process in the leases that it takes. */
  name: string;
  db: Db;
  inputs: InputStore;
  dispatcher: Dispatcher;
  decoders: DecoderPool;
  /** How many inline images are prepared concurrently, each with at most 4 MiB, and how many remote ones. */
  slots: number;
  leaseMs: number;
  /** Time limit for reading or storing an image. */
  stageTimeoutMs: number;
  notify: (message: FromChild) => void;
  log: Logger;
}

/** Prepares jobs for inference, several concurrently: fetches and decodes their images, and stores the result. */
export class Preparer {
  readonly #options: PreparerOptions;
  readonly #jobs: ActiveJobs;
  readonly #inline: FairShares;
  readonly #remote: FetchSlots;
  readonly #poll = new Poll();
  #released: Promise<void> = Promise.resolve();

  constructor(options: PreparerOptions) {
    this.#options = options;
    this.#jobs = new ActiveJobs(options);
    this.#inline = new FairShares(options.slots);
    this.#remote = new FetchSlots(options.slots);
  }

  /** Looks for jobs now. */
  wake(): void {
    this.#poll.wake();
  }

  /** Works until `drain` is called. Resolves when all jobs are released. */
  async run(): Promise<void> {
    const stopKeepingLeases = this.#jobs.keepLeases();
    try {
      while (!this.#jobs.draining) {
        const skipped = this.#skipped();
        const held = skipped && (await this.#jobs.claim(() => this.#claim(skipped)));
        if (held) void this.#work(held);
        else await this.#poll.wait();
      }
      await this.#released;
    } finally {
      stopKeepingLeases();
    }
  }

  /** Claims nothing more and hands all jobs back. */
  drain(): void {
    this.#jobs.stopClaiming();
    this.#released = this.#jobs.releaseAll();
    this.#poll.wake();
  }

  /** Returns the accounts whose jobs have to wait for a slot. Undefined if no job can start. */
  #skipped(): Required<PreparationClaim>['skipped'] | undefined {
    const inline = this.#inline.free > 0 ? this.#inline.exhausted() : everyAccount;
    const remote = this.#remote.exhausted;
    return inline === everyAccount && remote === everyAccount ? undefined : { inline, remote };
  }

  #claim(skipped: Required<PreparationClaim>['skipped']) {
    const { db, name, leaseMs, slots } = this.#options;
    const now = currentTime(db);
    return claimForPreparation(db, { runner: name, now, leaseMs, skipped, maxPrepared: preparedPerSlot * slots });
  }

  async #work(held: ActiveJob): Promise<void> {
    const { account_id, image_url } = held.job;
    const fetch = image_url === null ? undefined : this.#remote.start(account_id, () => giveWay(held));
    if (!fetch) this.#inline.take(account_id);
    const error = await this.#jobs.work(held, () => this.#prepare(held, fetch));
    if (fetch) this.#remote.end(fetch);
    else this.#inline.giveBack(account_id);
    this.#poll.wake();
    if (error instanceof StageTimeoutError) {
      this.drain();
      await this.#released;
      this.#options.notify({ type: 'hung', stage: error.stage });
    }
  }

  async #prepare(held: ActiveJob, fetch: Fetch | undefined): Promise<void> {
    const { db, inputs, decoders, stageTimeoutMs, notify, log } = this.#options;
    const { job, abort } = held;
    if (job.type !== jobType) throw unsupportedType(job.type);
    await this.#jobs.advance(job, 'PENDING', progress.preparing);
    const startedAt = performance.now();
    const image = await this.#load(held, fetch);
    const prepared = await decoders.decode(image, abort.signal);
    abort.signal.throwIfAborted();
    await withStageTimeout('storing the prepared image', stageTimeoutMs, inputs.replace(job.id, prepared));
    const prepareMs = Math.round(performance.now() - startedAt);
    abort.signal.throwIfAborted();
    await this.#jobs.whenAvailable(() => finishPreparation(db, job.lease, prepareMs, currentTime(db)));
    notify({ type: 'changed' });
    notify({ type: 'prepared' });
    log.debug({ ...aboutJob(job), prepareMs }, 'job prepared');
  }

  async #load({ job, abort: { signal } }: ActiveJob, fetch: Fetch | undefined): Promise<Uint8Array> {
    const { inputs, dispatcher, stageTimeoutMs } = this.#options;
    if (!fetch || job.image_url === null) {
      return withStageTimeout('reading the input', stageTimeoutMs, inputs.read(job.id));
    }
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
