import {
  type DecodedPhoto,
  decode,
  EngineError,
  type Generated,
  type GenerateStats,
  type PoolGenerated,
  type PoolGenerateOptions,
  type PoolProgress,
  type Stage,
} from '@gen3d/engine';
import { progress } from '@gen3d/schema';
import { type RealSize, readRealSize, type SamplerSettings } from '@gen3d/schema/rules';
import type { Logger } from 'pino';
import { isStorageUnavailable } from '../../base/errors.js';
import type { AssetKeys, AssetStore } from '../../data/assets/asset-store.js';
import type { Db } from '../../data/db/database.js';
import { currentTime } from '../../data/db/time.js';
import { isUnavailable, mayBeCommitted } from '../../data/db/unavailable.js';
import type { InputStore } from '../../data/inputs/input-store.js';
import { claim } from '../../data/jobs/claim.js';
import { JobFailure } from '../../data/jobs/failures.js';
import type { JobOptions } from '../../data/jobs/job-options.js';
import { succeed } from '../../data/jobs/lifecycle.js';
import type { StageTimes } from '../../data/jobs/stage-times.js';
import type { FromChild, MeshOptions } from '../processes/messages.js';
import { type ActiveJob, ActiveJobs, aboutJob } from '../stages/active-jobs.js';
import { Poll } from '../stages/poll.js';
import { StageTimeoutError, withStageTimeout } from '../stages/stage-failures.js';
import { progressSteps } from './progress-steps.js';

// Makes the models of claimed jobs, several at a time, and keeps their leases while it does. A job ends in one of four
// ways: finished (files stored first, then one transaction with the charge), failed, canceled, or released to the
// queue, which costs no attempt. When a lease is lost, the work on that job stops without a write. The process may
// crash or be killed at any point; other processes claim its jobs when their leases expire.

/** Longer than the retries of a request to S3, which may take five minutes for each of the two files of a model. */
const storeTimeoutMs = 11 * 60_000;

/** Makes the models of a runner: the engine, or a model server. */
export interface ModelMaker {
  generate(
    photo: DecodedPhoto,
    options: PoolGenerateOptions & { options?: JobOptions | undefined },
  ): Promise<
    Pick<PoolGenerated, 'glb' | 'thumbnail' | 'transparentThumbnail' | 'engineMs' | 'deviceMs'> & {
      stats: Pick<GenerateStats, 'bundle' | 'warnings' | 'outlineOverlap'> & { stageMs: StageTimes };
    }
  >;
}

export interface RunnerOptions {
  /** Names this process in the leases that it takes. */
  name: string;
  db: Db;
  engine: ModelMaker;
  /** Maximum number of jobs at a time. */
  slots: number;
  meshOptions: MeshOptions;
  inputs: InputStore;
  assets: AssetStore;
  leaseMs: number;
  /** Time limit for reading an image. */
  stageTimeoutMs: number;
  /** Days for which photos of models are kept. */
  keepPhotosDays?: number | undefined;
  /** Returns the current serving instance. */
  instance: () => string;
  /** Returns the current price of a second of inference, in USD. */
  rate: () => Promise<number>;
  /** Called after every job. If true, `run` ends and a new process replaces this one. */
  shouldRestart: () => boolean;
  notify: (message: FromChild) => void;
  log: Logger;
}

const millisecondsSince = (start: number) => Math.round(performance.now() - start);

const rounded = (times: StageTimes): StageTimes =>
  Object.fromEntries(Object.entries(times).map(([stage, ms]) => [stage, Math.round(ms)]));

/** Computes the charged time, which is the sum of the engine's stages, so that a customer can check it. */
const inferenceTime = (times: StageTimes): number => Object.values(times).reduce((sum, ms) => sum + ms, 0);

/** Turns an `EngineError` into a `JobFailure`, which ends the job. */
function throwAsFailure(error: unknown): never {
  if (error instanceof EngineError) throw new JobFailure(error.code, error.message, { cause: error });
  throw error;
}

/** @throws {JobFailure} if the model has no length in the direction of the size */
async function resized(glb: Uint8Array, size: RealSize): Promise<Uint8Array> {
  // Few jobs have a size.
  const { ConversionError, resizeGlb } = await import('@gen3d/convert');
  return resizeGlb(glb, size).catch((error: unknown) => {
    throw error instanceof ConversionError ? new JobFailure('inference_failed', `${error.message}.`) : error;
  });
}

/** Processes prepared jobs, several concurrently: runs the engine, stores the model, finishes the job. */
export class Runner {
  readonly #options: RunnerOptions;
  readonly #jobs: ActiveJobs;
  readonly #poll = new Poll();
  /** Milliseconds in the engine and on the device, of all jobs that this runner has finished. */
  #engineMs = 0;
  #deviceMs = 0;
  #endGrace: () => void = () => {};
  readonly #graceOver = new Promise<void>((resolve) => {
    this.#endGrace = resolve;
  });

  constructor(options: RunnerOptions) {
    this.#options = options;
    this.#jobs = new ActiveJobs(options);
  }

  /** True if it holds no job. */
  get idle(): boolean {
    return this.#jobs.idle;
  }

  /** Looks for a job now. */
  wake(): void {
    this.#poll.wake();
  }

  /** Works until `retire`, `drain` or `shouldRestart` ends it. Returns whether the engine is idle. */
  async run(): Promise<boolean> {
    const stopKeepingLeases = this.#jobs.keepLeases();
    try {
      return await Promise.race([this.#workThroughQueue().then(() => true), this.#graceOver.then(() => false)]);
    } finally {
      stopKeepingLeases();
    }
  }

  /** Claims nothing more and ends `run` after the jobs in progress. */
  retire(): void {
    this.#jobs.stopClaiming();
    this.#poll.wake();
  }

  /** Claims nothing more and gives the jobs in progress `graceMs` to finish before handing them back. */
  drain(graceMs: number): void {
    this.retire();
    setTimeout(() => this.#jobs.releaseAll().finally(this.#endGrace), graceMs).unref();
  }

  async #workThroughQueue(): Promise<void> {
    const { db, name, leaseMs } = this.#options;
    const inProgress = new Set<Promise<void>>();
    while (!this.#jobs.draining) {
      const holdsOthers = !this.#jobs.idle;
      const next = () => claim(db, { runner: name, now: currentTime(db), leaseMs, holdsOthers });
      const held = this.#mayClaim() ? await this.#jobs.claim(next) : undefined;
      if (!held) {
        await this.#poll.wait();
        continue;
      }
      const work = this.#work(held).finally(() => {
        inProgress.delete(work);
        this.#poll.wake();
      });
      inProgress.add(work);
    }
    await Promise.all(inProgress);
  }

  #mayClaim(): boolean {
    // A job that was attempted before may crash this process, and the others would lose an attempt with it.
    if (this.#jobs.hasRetried) return false;
    // More jobs than these would only wait for the device, while another machine may be idle.
    const useful = this.#deviceMs === 0 ? Number.POSITIVE_INFINITY : 1 + Math.round(this.#engineMs / this.#deviceMs);
    return this.#jobs.count < Math.min(this.#options.slots, useful);
  }

  async #work(held: ActiveJob): Promise<void> {
    const { notify, shouldRestart } = this.#options;
    const error = await this.#jobs.work(held, () => this.#infer(held));
    if (error instanceof StageTimeoutError) {
      this.#jobs.stopClaiming();
      await this.#jobs.releaseAll();
      notify({ type: 'hung', stage: error.stage });
    }
    if (shouldRestart()) this.#jobs.stopClaiming();
  }

  async #read({ job, abort }: ActiveJob): Promise<DecodedPhoto> {
    const { inputs, stageTimeoutMs } = this.#options;
    const image = await withStageTimeout('reading the input', stageTimeoutMs, inputs.read(job.id));
    const photo = await decode(image, { onlyPng: true }).catch(throwAsFailure);
    abort.signal.throwIfAborted();
    return photo;
  }

  async #infer(held: ActiveJob): Promise<void> {
    const { db, engine, meshOptions, inputs, assets, instance, rate, stageTimeoutMs, notify, log } = this.#options;
    const keepsPhoto = this.#options.keepPhotosDays !== undefined;
    const { job, abort, claimedAt } = held;
    const readStart = performance.now();
    const photo = await this.#read(held);
    const prepare = job.prepareMs + millisecondsSince(readStart);
    await this.#jobs.advance(job, 'IN_PROGRESS', progress.inferring);

    let writing: Promise<void> = Promise.resolve();
    const waitedMs = job.waitedMs + millisecondsSince(claimedAt);
    notify({ type: 'inferring', jobId: job.id, waitedMs, attempt: job.attempt });
    const passStep = progressSteps((reached) => {
      writing = writing
        .then(() => this.#jobs.advance(job, 'IN_PROGRESS', reached))
        .catch((error: unknown) => abort.abort(error));
    });
    const notifyStage = (running: Stage | undefined) =>
      notify({ type: 'stage', jobId: job.id, stage: running ?? 'store' });
    notifyStage('matte');
    let waitedForDeviceMs = 0;
    const onProgress = (fraction: number, { deviceWaitMs, running }: PoolProgress) => {
      notify({ type: 'waitedForDevice', jobId: job.id, ms: deviceWaitMs - waitedForDeviceMs });
      waitedForDeviceMs = deviceWaitMs;
      passStep(fraction);
      notifyStage(running);
    };
    const sampler = job.sampler === null ? undefined : (JSON.parse(job.sampler) as SamplerSettings);
    const options = job.options === null ? undefined : (JSON.parse(job.options) as JobOptions);
    const { stats, engineMs, deviceMs, ...made } = await engine
      .generate(photo, { ...meshOptions, sampler, options, onProgress, signal: abort.signal })
      .catch(throwAsFailure)
      .finally(() => notify({ type: 'inferred', jobId: job.id }));
    this.#engineMs += engineMs;
    this.#deviceMs += deviceMs;
    const engineStages = rounded(stats.stageMs);
    const inferenceMs = inferenceTime(engineStages);
    await writing;
    abort.signal.throwIfAborted();

    const stored = performance.now();
    const size = readRealSize(options ?? {});
    const files = size ? { ...made, glb: await resized(made.glb, size) } : made;
    const keys = await this.#store(held, files);
    const stageTimes = { prepare, ...engineStages, store: millisecondsSince(stored) };
    let forgotten: string | undefined;
    try {
      const rateUsdPerSecond = await this.#jobs.whenAvailable(rate);
      const { bundle, warnings } = stats;
      const result = { ...keys, inferenceMs, stageTimes, bundle, warnings };
      const success = { ...result, keepsPhoto, instance: instance(), rateUsdPerSecond };
      forgotten = await this.#jobs.whenAvailable(() => succeed(db, job.lease, success, currentTime(db)));
    } catch (error) {
      // If the database failed, the job may have succeeded. The hourly sweep settles its files.
      if (!isUnavailable(error) && !mayBeCommitted(error)) await assets.discard(keys);
      throw error;
    }
    notify({ type: 'finished', jobId: job.id, status: 'SUCCEEDED', inferenceMs, stageTimes });
    const outlineOverlap = stats.outlineOverlap?.toFixed(2);
    log.info({ ...aboutJob(job), bundle: stats.bundle, inferenceMs, outlineOverlap }, 'job succeeded');
    // Done after `notify`, to keep a slow store from delaying clients.
    await withStageTimeout('keeping the model', stageTimeoutMs, assets.keep(keys));
    if (forgotten !== undefined) {
      await withStageTimeout('removing an input', stageTimeoutMs, inputs.remove(forgotten));
    }
  }

  /** Retries while the object store is unavailable, to save the expensive inference. */
  #store(
    { job, abort }: ActiveJob,
    { glb, thumbnail, transparentThumbnail }: Pick<Generated, 'glb' | 'thumbnail' | 'transparentThumbnail'>,
  ): Promise<AssetKeys> {
    const { assets, log } = this.#options;
    const isTemporary = (error: unknown) => {
      if (abort.signal.aborted || !isStorageUnavailable(error)) return false;
      log.warn(aboutJob(job), error.message);
      return true;
    };
    return this.#jobs.retryWhile(isTemporary, () =>
      withStageTimeout('storing the model', storeTimeoutMs, assets.put(job.id, glb, thumbnail, transparentThumbnail)),
    );
  }
}
