import { EngineError } from '@gen3d/engine/errors';
import { ExitError } from '@gen3d/rpc';
import { firstCharacters, progress } from '@gen3d/schema';
import type { SamplerSettings } from '@gen3d/schema/rules';
import { rateOf } from '../data/accounts/rates.js';
import type { AssetKeys } from '../data/assets/asset-store.js';
import { currentTime } from '../data/db/time.js';
import { isUnavailable, mayBeCommitted } from '../data/db/unavailable.js';
import { unpack } from '../data/inputs/stored-image.js';
import { claim } from '../data/jobs/claim.js';
import { JobFailure } from '../data/jobs/failures.js';
import type { JobOptions } from '../data/jobs/job-options.js';
import { succeed } from '../data/jobs/lifecycle.js';
import { photosOf } from '../data/jobs/photos.js';
import type { JobStage, StageTimes } from '../data/jobs/stage-times.js';
import { type ActiveJob, type ActiveJobs, aboutJob, type Opening, type WorkContext } from './active-jobs.js';
import type { Runner } from './runner/runner.js';
import type { Made, SidePhoto } from './runner/runner-protocol.js';
import { AttemptFailure, ReleasedError } from './stage-failures.js';
import { maxOutageMs, outageReason } from './stage-outage.js';

// Makes the models of prepared jobs, several at a time. A runner makes the models: a child process without the
// database, the files and the keys. This process reads the photos, stores the model and finishes the job. A job ends in
// one of four ways: finished (files stored first, then one transaction with the charge), failed, canceled, or released
// to the queue, which costs no attempt. When a lease is lost, the work on that job stops without a write. This process
// may crash or be killed at any point; its jobs can be claimed again when their leases expire.

/** Longer than the retries of a request to S3, which may take five minutes for each of the three files of a model. */
const storeTimeoutMs = 16 * 60_000;

const millisecondsSince = (start: number) => Math.round(performance.now() - start);

const rounded = (times: StageTimes): StageTimes =>
  Object.fromEntries(Object.entries(times).map(([stage, ms]) => [stage, Math.round(ms)]));

/** Computes the charged time, which is the sum of the engine's stages, so that a customer can check it. */
const inferenceTime = (times: StageTimes): number => Object.values(times).reduce((sum, ms) => sum + ms, 0);

const runnerKilled =
  'The process that makes models was killed, probably because the server ran out of memory. On the server, `gen3d doctor` says how much it needs';

const progressStep = 10;

/** Returns the job's progress once the engine has done this fraction of its work, in steps, which limit its events. */
const progressAt = (fraction: number): number =>
  progress.inferring + progressStep * Math.floor((fraction * (progress.inferred - progress.inferring)) / progressStep);

/** Turns an `EngineError` into a `JobFailure`, which ends the job, and explains the end of a runner. */
function throwAsFailure(error: unknown): never {
  if (error instanceof ExitError && error.killedByOthers) throw new AttemptFailure(runnerKilled, { cause: error });
  if (error instanceof EngineError)
    throw new JobFailure(error.code, firstCharacters(error.message, 1_000), { cause: error });
  throw error;
}

/** The second stage of jobs: has their models made, stores them, and finishes the jobs. */
export class Inference {
  readonly #context: WorkContext;
  readonly #jobs: ActiveJobs;

  constructor(context: WorkContext, jobs: ActiveJobs) {
    this.#context = context;
    this.#jobs = jobs;
  }

  /** Returns how the next job can start, or undefined if no runner can take one. */
  opening(): Opening | undefined {
    const { db, config, children } = this.#context;
    const runner = children.nextRunner();
    if (!runner) return undefined;
    const ask = { runner: runner.id, leaseMs: config.leaseSeconds * 1_000, holdsOthers: !runner.idle };
    return {
      holder: runner.id,
      probe: runner.maker.probe?.bind(runner.maker),
      claim: () => claim(db, { ...ask, now: currentTime(db) }),
      work: (held) => runner.hold(held.job, () => this.#infer(held, runner)),
    };
  }

  async #infer(held: ActiveJob, runner: Runner): Promise<void> {
    const { inputs, assets, files, observer, log } = this.#context;
    const { job, abort } = held;
    const readStart = performance.now();
    const photos: SidePhoto[] = [];
    for (const { side } of photosOf(job)) {
      const image = unpack(await files.limit('reading the input', inputs.read(job.id, side)));
      if (image instanceof Uint8Array) throw new Error(`The image of job ${job.id} (${side}) is not prepared`);
      photos.push({ side, image });
    }
    const prepare = job.prepareMs + millisecondsSince(readStart);
    // The runner ended between the claim and now. This job is not the cause, so it must not lose an attempt.
    if (runner.hasEnded) throw new ReleasedError();
    const { stats, ...model } = await this.#make(held, runner, photos);
    const engineStages = rounded(stats.stageMs);
    const inferenceMs = inferenceTime(engineStages);
    abort.signal.throwIfAborted();

    held.running = 'store';
    const stored = performance.now();
    const keys = await this.#store(held, model);
    const stageTimes = { prepare, ...engineStages, store: millisecondsSince(stored) };
    let forgotten: string | undefined;
    try {
      const { instance } = runner;
      const rateUsdPerSecond = await this.#jobs.whenAvailable(() => this.#rateOf(instance));
      const { bundle, warnings } = stats;
      const success = { ...keys, inferenceMs, stageTimes, instance, rateUsdPerSecond, bundle, warnings };
      forgotten = await this.#jobs.change(job, (trx, now) => succeed(trx, job.lease, success, now));
    } catch (error) {
      // If the database failed, the job may have succeeded. The hourly sweep settles its files.
      if (!isUnavailable(error) && !mayBeCommitted(error)) await assets.discard(keys);
      throw error;
    }
    runner.recordSuccess(model);
    observer.succeeded(inferenceMs, stageTimes);
    const about = { runner: runner.id, bundle: stats.bundle, outlineOverlap: stats.outlineOverlap?.toFixed(2) };
    log.info({ ...aboutJob(job), ...about, inferenceMs }, 'job succeeded');
    // Done last, to keep a slow store from delaying clients.
    await files.limit('keeping the model', assets.keep(keys));
    if (forgotten !== undefined) await files.limit('removing an input', inputs.remove(forgotten));
  }

  /** Makes the model with the runner, and records the job's stage and progress meanwhile. */
  async #make(held: ActiveJob, runner: Runner, photos: readonly SidePhoto[]): Promise<Made> {
    const { config, observer } = this.#context;
    const { resolution, maxTriangles, textureSize } = config;
    const { job, abort, claimedAt } = held;
    if (job.attempt === 1) observer.waited(job.waitedMs + millisecondsSince(claimedAt));
    held.running = 'matte';
    const onProgress = (fraction: number, running: JobStage | undefined) => {
      held.reached = progressAt(fraction);
      held.running = running ?? 'store';
    };
    const sampler = job.sampler === null ? undefined : (JSON.parse(job.sampler) as SamplerSettings);
    const options = job.options === null ? undefined : (JSON.parse(job.options) as JobOptions);
    const mesh = { resolution, maxTriangles, textureSize, sampler };
    const request = { ...mesh, options, onProgress, signal: abort.signal };
    return runner.maker.generate(photos, request).catch(throwAsFailure);
  }

  /** Retries while the disk is full or the object store unavailable, to save the expensive inference. */
  #store(
    { job, stage, abort, claimedAt }: ActiveJob,
    { glb, thumbnail, transparentThumbnail }: Pick<Made, 'glb' | 'thumbnail' | 'transparentThumbnail'>,
  ): Promise<AssetKeys> {
    const { assets, files } = this.#context;
    const isTemporary = (error: unknown) => {
      const reason = outageReason(error);
      const isLate = job.waitedMs + millisecondsSince(claimedAt) >= maxOutageMs;
      if (abort.signal.aborted || reason === undefined || isLate) return false;
      this.#jobs.outages[stage].failed(reason, { ...aboutJob(job), err: error });
      return true;
    };
    return this.#jobs.retryWhile(isTemporary, () =>
      files.limit('storing the model', assets.put(job.id, glb, thumbnail, transparentThumbnail), storeTimeoutMs),
    );
  }

  /** Reads the rate for each job. Rates may change while a server runs, and may lack a CPU that replaces a GPU. */
  async #rateOf(instance: string): Promise<number> {
    const { db, config, log } = this.#context;
    return rateOf(db, config, instance).catch((error: unknown) => {
      if (isUnavailable(error)) throw error;
      log.error({ err: error }, 'no rate is known; the inference is free of charge');
      return 0;
    });
  }
}
