import { setTimeout as pause } from 'node:timers/promises';
import { type DecodedPhoto, decode, EngineError } from '@gen3d/engine';
import { jobType, progress } from '@gen3d/schema';
import type { Logger } from 'pino';
import type { Dispatcher } from 'undici';
import type { AssetKeys, AssetStore } from '../assets/store.js';
import type { Db } from '../db/open.js';
import { after, currentTime } from '../db/time.js';
import { isUnavailable, mayBeCommitted, whyFailed } from '../db/unavailable.js';
import { isDiskFull } from '../disk-full.js';
import { fetchImage } from '../inputs/fetch-image.js';
import { describeNonImage, sniffImage } from '../inputs/sniff.js';
import type { InputStore } from '../inputs/store.js';
import { UnreadablePhotoError } from '../inputs/unreadable.js';
import { type ClaimedJob, claim, handBack, handBackUnknown, renew } from '../jobs/claim.js';
import { JobFailure, unsupportedType } from '../jobs/failures.js';
import { advance, breakOff, fail, LeaseLostError, succeed } from '../jobs/lifecycle.js';
import type { StageTimes } from '../jobs/stage-times.js';
import { isStorageUnavailable } from '../s3/unavailable.js';
import type { FromRunner } from './messages.js';
import type { ThreadedEngine } from './threaded-engine.js';

/** How often an idle runner looks for jobs that nobody woke it for. */
const pollMs = 1_000;
/** Pause before another attempt at a job that broke off unexpectedly. */
const breakOffPauseMs = 2_000;
/** Pause before a job is tried again that failed only because the disk is full or the object store away. */
const storagePauseMs = 15_000;
/** How old a job may be whose photo cannot be read, before that counts as an attempt: time to mend what hides it. */
const photoPatienceMs = 60 * 60_000;
/** How often a runner tries to tell the database about a job, or to store its model, while there is no room or nobody there. */
const retryMs = 1_000;
/** Inference reports its progress in steps of this size, so that a job makes a handful of events and not hundreds. */
const progressStep = 10;

export interface RunnerOptions {
  /** Name of this runner in the leases it takes. */
  name: string;
  db: Db;
  engine: ThreadedEngine;
  inputs: InputStore;
  assets: AssetStore;
  dispatcher: Dispatcher;
  leaseMs: number;
  /** The serving instance that computes now, and what a second of its inference costs in USD when a job is done. */
  instance: () => string;
  rate: () => Promise<number>;
  /** Asked after every job: true ends the run, so that a fresh process takes over. */
  isWornOut: () => boolean;
  tell: (news: FromRunner) => void;
  log: Logger;
}

/** One job in the hands of this runner. */
interface Work {
  job: ClaimedJob;
  /** Aborted with a `LeaseLostError` or `HandBack` when the work must stop. */
  abort: AbortController;
  claimedAt: number;
  /** How long each stage behind us took. */
  stageTimes: StageTimes;
}

/** Why work stopped before its end: the runner is leaving and somebody else shall do it. */
class HandBack extends Error {
  override readonly name = 'HandBack';
}

/** What all log lines about a job have in common; `trace_id` as OpenTelemetry spells it. */
const aboutJob = ({ id, attempt, trace_id }: ClaimedJob) => ({
  jobId: id,
  attempt,
  ...(trace_id === null ? {} : { trace_id }),
});

const mayComeBack = (error: unknown, job: ClaimedJob) =>
  error instanceof UnreadablePhotoError && job.waitedMs < photoPatienceMs;

const millisecondsSince = (start: number) => Math.round(performance.now() - start);

const rounded = (times: StageTimes): StageTimes =>
  Object.fromEntries(Object.entries(times).map(([stage, ms]) => [stage, Math.round(ms)]));

/**
 * Works through the queue: prepares a job, waits for the inference slot, runs the engine, stores the assets, finishes the
 * job. While one job is in inference the next is being prepared, and no more than that is held.
 */
export class Runner {
  readonly #options: RunnerOptions;
  readonly #works = new Set<Work>();
  #inference: Promise<void> = Promise.resolve();
  #inferring: Work | undefined;
  #draining = false;
  /** The response to the last claim was lost, so the database may say that we hold a job. */
  #claimInDoubt = false;
  #wake: () => void = () => {};
  #endGrace: () => void = () => {};
  readonly #graceOver = new Promise<void>((resolve) => {
    this.#endGrace = resolve;
  });

  constructor(options: RunnerOptions) {
    this.#options = options;
  }

  /** Whether it holds no job. */
  get idle(): boolean {
    return this.#works.size === 0;
  }

  /** Looks for a job now. */
  wake(): void {
    this.#wake();
  }

  /** Works until `drain` is called or the process is worn out. Returns whether the engine is idle then. */
  async run(): Promise<boolean> {
    const { leaseMs, log } = this.#options;
    // Four chances to renew before a lease runs out.
    const heartbeat = setInterval(() => {
      this.#renewLeases().catch((error: unknown) => {
        // That the database is away has been logged.
        if (!isUnavailable(error)) log.error({ err: error }, 'cannot renew leases');
      });
    }, leaseMs / 4);
    try {
      while (!this.#draining) {
        const job = await this.#claim();
        if (job) await this.#take(job);
        else await this.#idle();
      }
      return await Promise.race([this.#inference.then(() => true), this.#graceOver.then(() => false)]);
    } finally {
      clearInterval(heartbeat);
    }
  }

  /** Claims nothing more, gives the inference under way `graceMs` to finish, and hands everything else back. */
  drain(graceMs: number): void {
    this.#draining = true;
    this.#wake();
    for (const work of this.#works) if (work !== this.#inferring) work.abort.abort(new HandBack());
    setTimeout(() => this.#handBackAll().finally(this.#endGrace), graceMs).unref();
  }

  /** Does not wait for the engine to notice: what it still makes will find the lease gone. */
  async #handBackAll(): Promise<void> {
    const { db, log } = this.#options;
    for (const { job, abort } of this.#works) {
      abort.abort(new HandBack());
      await handBack(db, job.lease).catch((error: unknown) =>
        log.error({ ...aboutJob(job), ...whyFailed(error) }, 'cannot hand the job back'),
      );
    }
  }

  async #claim(): Promise<ClaimedJob | undefined> {
    const { db, name, leaseMs, log } = this.#options;
    try {
      // First: after the whole process was stopped for long, the oldest free job might be our own.
      await this.#renewLeases();
      if (this.#claimInDoubt) {
        const known = [...this.#works].map(({ job }) => job.lease);
        await handBackUnknown(db, name, known);
        this.#claimInDoubt = false;
      }
      return await claim(db, { runner: name, now: currentTime(db), leaseMs });
    } catch (error) {
      if (mayBeCommitted(error)) this.#claimInDoubt = true;
      if (!isUnavailable(error)) log.error({ err: error }, 'cannot claim a job');
      return undefined;
    }
  }

  #idle(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, pollMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /** Prepares the job, then starts its inference as soon as the slot is free, without waiting for its end. */
  async #take(job: ClaimedJob): Promise<void> {
    const work: Work = { job, abort: new AbortController(), claimedAt: performance.now(), stageTimes: {} };
    this.#works.add(work);
    this.#options.tell({ type: 'claimed', takenOver: job.taken_over === 1 });
    try {
      const photo = await this.#prepare(work);
      await this.#inference;
      work.abort.signal.throwIfAborted();
      this.#inferring = work;
      this.#inference = this.#infer(work, photo)
        .catch((error: unknown) => this.#end(work, error))
        .finally(() => {
          this.#inferring = undefined;
          this.#works.delete(work);
          if (this.#options.isWornOut()) this.drain(0);
        });
    } catch (error) {
      await this.#end(work, error);
      this.#works.delete(work);
    }
  }

  async #prepare(work: Work): Promise<DecodedPhoto> {
    const { inputs, dispatcher } = this.#options;
    const { job, abort } = work;
    if (job.type !== jobType) throw unsupportedType(job.type);
    await this.#advance(job, 'PENDING', progress.preparing);
    const started = performance.now();
    const bytes =
      job.image_url === null ? await inputs.read(job.id) : await fetchImage(job.image_url, dispatcher, abort.signal);
    if (sniffImage(bytes) === undefined) {
      throw new JobFailure('image_invalid', `The image is no photo in a known format but ${describeNonImage(bytes)}`);
    }
    const photo = await decode(bytes);
    work.stageTimes = { prepare: millisecondsSince(started) };
    abort.signal.throwIfAborted();
    await this.#advance(job, 'QUEUED', progress.queued);
    return photo;
  }

  async #infer({ job, abort, claimedAt, stageTimes: prepared }: Work, photo: DecodedPhoto): Promise<void> {
    const { db, engine, inputs, assets, instance, rate, tell, log } = this.#options;
    await this.#advance(job, 'IN_PROGRESS', progress.inferring);

    let reported: number = progress.inferring;
    let writing: Promise<void> = Promise.resolve();
    const report = (fraction: number) => {
      const span = progress.inferred - progress.inferring;
      const now = progress.inferring + Math.floor((fraction * span) / progressStep) * progressStep;
      if (now <= reported || now > progress.inferred) return;
      reported = now;
      writing = writing
        .then(() => this.#advance(job, 'IN_PROGRESS', now))
        .catch((error: unknown) => abort.abort(error));
    };
    const started = performance.now();
    const waitedMs = job.waitedMs + millisecondsSince(claimedAt);
    tell({ type: 'inferring', jobId: job.id, waitedMs, attempt: job.attempt });
    const { glb, thumbnail, stats } = await engine
      .generate(photo, { onProgress: report, signal: abort.signal })
      .finally(() => tell({ type: 'idle' }));
    const inferenceMs = millisecondsSince(started);
    report(1);
    await writing;
    abort.signal.throwIfAborted();

    const stored = performance.now();
    const keys = await this.#store({ job, abort }, glb, thumbnail);
    const stageTimes = { ...prepared, ...rounded(stats.stageMs), store: millisecondsSince(stored) };
    try {
      const rateUsdPerSecond = await this.#whenAvailable(rate);
      const success = { ...keys, inferenceMs, stageTimes, instance: instance(), rateUsdPerSecond };
      await this.#whenAvailable(() => succeed(db, job.lease, success, currentTime(db)));
    } catch (error) {
      // Whether the job has succeeded after all is not known then; the files are settled later.
      if (!isUnavailable(error)) await assets.discard(keys);
      throw error;
    }
    tell({ type: 'finished', status: 'SUCCEEDED', inferenceMs, stageTimes });
    log.info({ ...aboutJob(job), inferenceMs }, 'job succeeded');
    // After the news: nobody needs to wait for a slow store to be tidied up.
    await assets.keep(keys);
    await inputs.remove(job.id);
  }

  /** Tries again while the object store is away and the job is ours: the inference is the dear part of it. */
  async #store(
    { job, abort }: Pick<Work, 'job' | 'abort'>,
    glb: Uint8Array,
    thumbnail: Uint8Array,
  ): Promise<AssetKeys> {
    for (;;) {
      try {
        return await this.#options.assets.put(job.id, glb, thumbnail);
      } catch (error) {
        if (!isStorageUnavailable(error) || this.#draining || abort.signal.aborted) throw error;
        this.#options.log.warn(aboutJob(job), error.message);
        await pause(retryMs);
      }
    }
  }

  async #advance(job: ClaimedJob, status: 'PENDING' | 'QUEUED' | 'IN_PROGRESS', to: number): Promise<void> {
    const { db, tell } = this.#options;
    await this.#whenAvailable(() => advance(db, job.lease, { status, progress: to }, currentTime(db)));
    tell({ type: 'changed' });
  }

  /**
   * Asks again while the database is away: what a job has cost so far shall not be lost with a restart of PostgreSQL. When
   * it is back, the lease's token tells whether the job is still ours.
   */
  async #whenAvailable<T>(ask: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        if (!isUnavailable(error) || this.#draining) throw error;
        await pause(retryMs);
      }
    }
  }

  /** What becomes of a job whose work stopped before its end. */
  async #end({ job, abort }: Work, thrown: unknown): Promise<void> {
    const { log } = this.#options;
    // What an aborted engine or fetch throws is only an echo of why we aborted it.
    const error: unknown = abort.signal.aborted ? abort.signal.reason : thrown;
    const about = aboutJob(job);
    if (isDiskFull(error)) log.error({ ...about, err: error }, 'no space left; the job waits');
    if (isStorageUnavailable(error)) log.error({ ...about, err: error }, 'the object store is away; the job waits');
    if (mayComeBack(error, job)) log.error({ ...about, err: error }, 'the photo cannot be read; the job waits');
    for (;;) {
      try {
        return await this.#conclude(job, error);
      } catch (ending) {
        if (!(isDiskFull(ending) || isUnavailable(ending)) || this.#draining) {
          // The lease stays and runs out; then the job is claimed again or reaped.
          return log.error({ ...about, ...whyFailed(ending) }, 'cannot end the attempt');
        }
        // Left to run out, the lease would count as an attempt. To take the job from us needs room as well.
        await pause(retryMs);
      }
    }
  }

  async #conclude(job: ClaimedJob, error: unknown): Promise<void> {
    const { db, inputs, tell, log } = this.#options;
    const about = aboutJob(job);
    if (error instanceof LeaseLostError) {
      log.warn(about, 'lost the lease; somebody else has the job');
    } else if (error instanceof HandBack) {
      await handBack(db, job.lease);
      log.info(about, 'handed the job back');
    } else if (isDiskFull(error) || isStorageUnavailable(error) || mayComeBack(error, job)) {
      await handBack(db, job.lease, after(currentTime(db), storagePauseMs));
    } else if (error instanceof JobFailure || error instanceof EngineError) {
      const failure = error instanceof JobFailure ? error : new JobFailure(error.code, error.message, { cause: error });
      await fail(db, job.lease, failure, currentTime(db));
      tell({ type: 'finished', status: 'FAILED' });
      log.info(
        { ...about, code: failure.code, reason: failure.message, detail: String(error.cause ?? '') },
        'job failed',
      );
      await inputs.remove(job.id);
    } else {
      log.error({ ...about, ...whyFailed(error) }, 'the attempt broke off');
      const again = await breakOff(db, job.lease, breakOffPauseMs, currentTime(db));
      if (!again) tell({ type: 'finished', status: 'FAILED' });
      tell({ type: 'changed' });
    }
  }

  async #renewLeases(): Promise<void> {
    if (this.#works.size === 0) return;
    const { db, leaseMs } = this.#options;
    const works = [...this.#works];
    const held = await renew(
      db,
      works.map(({ job }) => job.lease),
      { now: currentTime(db), leaseMs },
    );
    for (const { job, abort } of works) {
      if (!held.has(job.lease.token)) abort.abort(new LeaseLostError(job.id));
    }
  }
}
