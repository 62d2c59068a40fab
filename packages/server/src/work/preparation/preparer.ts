import { jobType, limits, progress } from '@gen3d/schema';
import type { Logger } from 'pino';
import type { Dispatcher } from 'undici';
import { FairShares } from '../../base/fair-shares.js';
import type { Db } from '../../data/db/open.js';
import { currentTime } from '../../data/db/time.js';
import type { InputStore } from '../../data/inputs/input-store.js';
import { claimForPreparation } from '../../data/jobs/claim.js';
import { unsupportedType } from '../../data/jobs/failures.js';
import { finishPreparation } from '../../data/jobs/lifecycle.js';
import type { FromChild } from '../processes/messages.js';
import { aboutJob, type HeldJob, HeldJobs } from '../stages/held-jobs.js';
import { Poll } from '../stages/poll.js';
import { StageTimeoutError, withStageTimeout } from '../stages/stage-failures.js';
import type { DecoderPool } from './decoder-pool.js';
import { fetchImage } from './fetch-image.js';

/** Memory budget of all images: eight of the largest size, enough for the default of eight slots. */
const maxImageBytes = 8 * limits.remoteImageBytes;
/** Maximum number of prepared jobs per slot: enough to keep runners busy, without filling the disk. */
const preparedPerSlot = 2;

export interface PreparerOptions {
  /** The name of this process in the leases that it takes. */
  name: string;
  db: Db;
  inputs: InputStore;
  dispatcher: Dispatcher;
  decoders: DecoderPool;
  /** How many jobs are prepared concurrently. */
  slots: number;
  leaseMs: number;
  /** For reading or storing an image. */
  stageTimeoutMs: number;
  notify: (message: FromChild) => void;
  log: Logger;
}

/** Prepares jobs for inference, several concurrently: fetches and decodes their images, and stores the result. */
export class Preparer {
  readonly #options: PreparerOptions;
  readonly #jobs: HeldJobs;
  readonly #slots: FairShares;
  readonly #imageBytes = new FairShares(maxImageBytes);
  readonly #poll = new Poll();
  #handedBack: Promise<void> = Promise.resolve();

  constructor(options: PreparerOptions) {
    this.#options = options;
    this.#jobs = new HeldJobs(options);
    this.#slots = new FairShares(options.slots);
  }

  /** Looks for jobs now. */
  wake(): void {
    this.#poll.wake();
  }

  /** Works until `drain` is called. Resolves when all jobs are handed back. */
  async run(): Promise<void> {
    const stopKeepingLeases = this.#jobs.keepLeases();
    try {
      while (!this.#jobs.draining) {
        const held = this.#slots.free > 0 ? await this.#jobs.claim(() => this.#claim()) : undefined;
        if (held) void this.#work(held);
        else await this.#poll.wait();
      }
      await this.#handedBack;
    } finally {
      stopKeepingLeases();
    }
  }

  /** Claims nothing more and hands all jobs back. */
  drain(): void {
    this.#jobs.stopClaiming();
    this.#handedBack = this.#jobs.handBackAll();
    this.#poll.wake();
  }

  #claim() {
    const { db, name, leaseMs, slots } = this.#options;
    return claimForPreparation(db, {
      runner: name,
      now: currentTime(db),
      leaseMs,
      except: this.#slots.exhausted,
      maxPrepared: preparedPerSlot * slots,
    });
  }

  async #work(held: HeldJob): Promise<void> {
    const { account_id } = held.job;
    this.#slots.take(account_id);
    const error = await this.#jobs.work(held, () => this.#prepare(held));
    this.#slots.giveBack(account_id);
    this.#poll.wake();
    if (error instanceof StageTimeoutError) {
      this.drain();
      await this.#handedBack;
      this.#options.notify({ type: 'hung', stage: error.stage });
    }
  }

  async #prepare(held: HeldJob): Promise<void> {
    const { db, inputs, decoders, stageTimeoutMs, notify, log } = this.#options;
    const { job, abort } = held;
    if (job.type !== jobType) throw unsupportedType(job.type);
    await this.#jobs.advance(job, 'PENDING', progress.preparing);
    const startedAt = performance.now();
    let reservedBytes = 0;
    const giveBack = (bytes: number) => {
      this.#imageBytes.giveBack(job.account_id, bytes);
      reservedBytes -= bytes;
    };
    try {
      // Before the request, because a response that waits to be read can end the process. See fetchImage.
      const maxBytes = job.image_url === null ? limits.inlineImageBytes : limits.remoteImageBytes;
      await this.#imageBytes.takeWhenAllowed(job.account_id, maxBytes, abort.signal);
      reservedBytes = maxBytes;
      const image = await this.#load(held, (bytes) => giveBack(maxBytes - bytes));
      const prepared = await decoders.decode(image, abort.signal);
      abort.signal.throwIfAborted();
      await withStageTimeout('storing the prepared image', stageTimeoutMs, inputs.replace(job.id, prepared));
    } finally {
      if (reservedBytes > 0) giveBack(reservedBytes);
    }
    const prepareMs = Math.round(performance.now() - startedAt);
    abort.signal.throwIfAborted();
    await this.#jobs.whenAvailable(() => finishPreparation(db, job.lease, prepareMs, currentTime(db)));
    notify({ type: 'changed' });
    notify({ type: 'prepared' });
    log.debug({ ...aboutJob(job), prepareMs }, 'job prepared');
  }

  async #load({ job, abort }: HeldJob, onLength: (bytes: number) => void): Promise<Uint8Array> {
    const { inputs, dispatcher, stageTimeoutMs } = this.#options;
    if (job.image_url !== null) return fetchImage(job.image_url, { dispatcher, signal: abort.signal, onLength });
    return withStageTimeout('reading the input', stageTimeoutMs, inputs.read(job.id));
  }
}
