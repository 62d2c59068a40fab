import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Dispatcher } from 'undici';
import { errorMessage, isDiskFull } from '../base/errors.js';
import type { Config } from '../config.js';
import type { AssetStore } from '../data/assets/asset-store.js';
import type { Db } from '../data/db/database.js';
import type { GroupCommit } from '../data/db/group-commit.js';
import { currentTime, type Time } from '../data/db/time.js';
import { failureReason, isUnavailable, mayBeCommitted } from '../data/db/unavailable.js';
import type { InputStore } from '../data/inputs/input-store.js';
import { UnreadableImageError } from '../data/inputs/input-store.js';
import { type ClaimedJob, release, releaseUnknown, renew, type Stage } from '../data/jobs/claim.js';
import { isDeleted } from '../data/jobs/deletion.js';
import { JobFailure } from '../data/jobs/failures.js';
import { fail, failAttempt, LeaseLostError } from '../data/jobs/lifecycle.js';
import type { JobStage, StageTimes } from '../data/jobs/stage-times.js';
import type { Children } from './children.js';
import type { FileAccess } from './file-access.js';
import { AttemptFailure, GaveWayError, ReleasedError, StageTimeoutError } from './stage-failures.js';
import { maxOutageMs, outageReason, StageOutage } from './stage-outage.js';

/** Pause before the next attempt after an unexpected failure. */
const failedAttemptPauseMs = 2_000;
/** Pause before the next attempt after a temporary failure. */
const unavailablePauseMs = 15_000;
/** A job older than this loses an attempt when its input cannot be read. Until then, the operator can fix the cause. */
const unreadableInputMs = 60 * 60_000;
/** Interval at which the progress of jobs is written, which limits their events. */
const progressMs = 5_000;
/** Interval between retries while the database or the object store is unavailable. */
const retryMs = 1_000;

/** Counts what happens to the jobs of this machine, for its metrics. */
export interface JobObserver {
  /** A job was claimed. `takenOver` is true if another holder's lease on it had expired. */
  claimed(takenOver: boolean): void;
  /** The first inference of a job starts, `ms` after the job was created. */
  waited(ms: number): void;
  succeeded(inferenceMs: number, stageTimes: StageTimes): void;
  failed(): void;
}

/** The stores, children and callbacks that a worker shares with its stages. */
export interface WorkContext {
  readonly config: Pick<
    Config,
    'preparations' | 'leaseSeconds' | 'rates' | 'resolution' | 'maxTriangles' | 'textureSize'
  >;
  readonly db: Db;
  readonly commits: GroupCommit;
  readonly inputs: InputStore;
  readonly assets: AssetStore;
  readonly files: FileAccess;
  /** Sends requests to URLs from users. */
  readonly dispatcher: Dispatcher;
  readonly children: Pick<Children, 'start' | 'decode' | 'nextRunner' | 'stop'>;
  readonly observer: JobObserver;
  /** Called when a job has changed, so an event may be waiting for delivery. */
  readonly onEvent: () => void;
  /** Called when a job is ready for inference, which another machine may do. */
  readonly onPrepared: () => void;
  readonly log: Logger;
}

/** A job whose lease this machine holds. */
export interface ActiveJob {
  readonly job: ClaimedJob;
  readonly stage: Stage;
  /** Aborted when the work on the job must stop. The reason, such as `LeaseLostError`, decides how the attempt ends. */
  readonly abort: AbortController;
  readonly claimedAt: number;
  /** The stage that an inference has reached. */
  running?: JobStage;
  /** The progress that an inference has reached. */
  reached?: number;
}

/** A place for one more job in a stage. */
export interface Opening {
  /** Names what holds the job's lease. */
  readonly holder: string;
  /** Returns why the stage still cannot work. Not set if only a job can show that. */
  readonly probe?: (() => Promise<Error | undefined>) | undefined;
  claim(): Promise<ClaimedJob | undefined>;
  work(held: ActiveJob): Promise<void>;
}

/** Returns the fields of every log entry about a job. `trace_id` is spelled as in OpenTelemetry. */
export const aboutJob = ({ id, label, attempt, trace_id }: ClaimedJob) => ({
  jobId: id,
  ...(label === null ? {} : { label }),
  attempt,
  ...(trace_id === null ? {} : { trace_id }),
});

/** Tells clients why a job failed after it waited for `maxOutageMs`. It has no details, which may name addresses. */
const outageForClients = 'For a day, the service had no working storage or model server for the job';

/** Returns the log message for a temporary failure of one job. Undefined for other failures. */
function temporaryFailure(error: unknown, job: ClaimedJob): string | undefined {
  if (job.waitedMs >= unreadableInputMs) return undefined;
  if (error instanceof UnreadableImageError) return 'the input cannot be read; the job waits';
  if (error instanceof StageTimeoutError) return 'a file system does not respond; the job waits';
  return undefined;
}

type ActiveJobsOptions = Pick<
  WorkContext,
  'config' | 'db' | 'commits' | 'inputs' | 'files' | 'observer' | 'onEvent' | 'log'
>;

/** Claims the jobs that this machine works on, keeps their leases, and ends their attempts. */
export class ActiveJobs {
  readonly #options: ActiveJobsOptions;
  readonly #leaseMs: number;
  readonly #held = new Map<string, ActiveJob>();
  readonly outages: Readonly<Record<Stage, StageOutage>>;
  #draining = false;
  /** Holders whose last claim got no response, so it may have succeeded. */
  readonly #inDoubt = new Set<string>();

  constructor(options: ActiveJobsOptions) {
    this.#options = options;
    this.#leaseMs = options.config.leaseSeconds * 1_000;
    const outage = (stage: Stage) => new StageOutage(stage, options.log);
    this.outages = { inference: outage('inference'), preparation: outage('preparation') };
  }

  get draining(): boolean {
    return this.#draining;
  }

  /** Returns the stage that the inference of a job has reached, if it runs on this machine. */
  runningStage(jobId: string): JobStage | undefined {
    return this.#held.get(jobId)?.running;
  }

  /**
   * Renews the leases and writes the progress of their jobs at intervals, which are at most a quarter of a lease.
   * Returns a function that stops this.
   */
  keepLeases(): () => void {
    const everyMs = Math.min(this.#leaseMs / 4, progressMs);
    const timer = setInterval(() => this.checkLeases({ withProgress: true }), everyMs);
    return () => clearInterval(timer);
  }

  /** Renews the leases now, and so stops the work on jobs that were canceled or taken over. */
  checkLeases(how?: { withProgress: boolean }): void {
    this.#renewLeases(how).catch((error: unknown) => {
      // An unavailable database is logged elsewhere.
      if (!isUnavailable(error)) this.#options.log.error({ err: error }, 'cannot check the leases');
    });
  }

  /** Holds the job that `next` claims for `holder`, if any. Releases it if a drain has started in the meantime. */
  async claim(
    stage: Stage,
    holder: string,
    next: () => Promise<ClaimedJob | undefined>,
  ): Promise<ActiveJob | undefined> {
    const { db, observer, onEvent } = this.#options;
    let job: ClaimedJob | undefined;
    try {
      // Renew first: after this process was suspended, the next free job could be one it still works on.
      await this.#renewLeases();
      if (this.#inDoubt.has(holder)) {
        const known = [...this.#held.values()].map(({ job: { lease } }) => lease);
        await releaseUnknown(db, holder, known);
        this.#inDoubt.delete(holder);
      }
      job = await next();
    } catch (error) {
      if (mayBeCommitted(error)) this.#inDoubt.add(holder);
      if (!isUnavailable(error)) this.outages[stage].failed(errorMessage(error), { err: error });
    }
    if (!job) return undefined;
    const held = { job, stage, abort: new AbortController(), claimedAt: performance.now() };
    if (this.#draining) {
      await this.#end(held, new ReleasedError());
      return undefined;
    }
    this.#held.set(job.id, held);
    this.outages[stage].claimed();
    observer.claimed(job.taken_over === 1);
    onEvent();
    return held;
  }

  /** Whether the response to the holder's last claim was lost, so that it may hold a job without knowing. */
  isInDoubt(holder: string): boolean {
    return this.#inDoubt.has(holder);
  }

  /** Works on the job until it is finished or its attempt has ended. Resolves with what `work` threw, if anything. */
  async work(held: ActiveJob, work: () => Promise<void>): Promise<unknown> {
    try {
      await work();
      this.outages[held.stage].succeeded();
      return undefined;
    } catch (error) {
      await this.#end(held, error);
      return error;
    } finally {
      if (this.#held.get(held.job.id) === held) this.#held.delete(held.job.id);
    }
  }

  stopClaiming(): void {
    this.#draining = true;
  }

  /** Releases all jobs, or those in one stage. Does not wait for the work on them, which can no longer write. */
  async releaseAll(stage?: Stage): Promise<void> {
    const { db, log } = this.#options;
    for (const held of [...this.#held.values()].filter((one) => stage === undefined || one.stage === stage)) {
      held.abort.abort(new ReleasedError());
      await release(db, held.job.lease).catch((error: unknown) =>
        log.error({ ...aboutJob(held.job), ...failureReason(error) }, 'cannot return the job to the queue'),
      );
    }
  }

  /** Changes the job, together with other changes of its account. */
  async change<T>({ account_id }: ClaimedJob, change: (trx: Db, now: Time) => Promise<T>): Promise<T> {
    const { db, commits, onEvent } = this.#options;
    const result = await this.whenAvailable(() => commits.run((trx) => change(trx, currentTime(db)), account_id));
    onEvent();
    return result;
  }

  /**
   * Repeats a request to the database while that is unavailable, to save the work on a job during a restart of
   * PostgreSQL. Afterwards, the token of the lease shows whether the job is still held.
   */
  whenAvailable<T>(request: () => Promise<T>): Promise<T> {
    return this.retryWhile(isUnavailable, request);
  }

  /** Repeats `task` every second while it fails with an error for which `isTemporary` returns true, until a drain. */
  async retryWhile<T>(isTemporary: (error: unknown) => boolean, task: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await task();
      } catch (error) {
        if (this.#draining || !isTemporary(error)) throw error;
        await pause(retryMs);
      }
    }
  }

  /** Ends the attempt at a job that stopped early. */
  async #end({ job, stage, abort }: ActiveJob, thrown: unknown): Promise<void> {
    const { log } = this.#options;
    // An aborted engine or fetch throws its own error; the signal's reason says why it was aborted.
    const error: unknown = abort.signal.aborted ? abort.signal.reason : thrown;
    const outage = outageReason(error);
    const message = temporaryFailure(error, job);
    if (outage) this.outages[stage].failed(outage, { ...aboutJob(job), err: error });
    else if (message) log.error({ ...aboutJob(job), err: error }, message);
    else if (error instanceof JobFailure) this.outages[stage].succeeded();
    const isUncounted = outage ? job.waitedMs < maxOutageMs : message !== undefined;
    // Without this, the lease would expire, the attempt would count, and no machine could claim the job until then.
    const isTemporary = (failure: unknown) => isDiskFull(failure) || isUnavailable(failure);
    await this.retryWhile(isTemporary, () => this.#conclude(job, error, isUncounted)).catch((failure: unknown) => {
      // The lease expires. After that the job is claimed again, or fails if no attempts are left.
      log.error({ ...aboutJob(job), ...failureReason(failure) }, 'cannot end the attempt');
    });
  }

  async #conclude(job: ClaimedJob, error: unknown, isTemporary: boolean): Promise<void> {
    const { db, inputs, files, observer, log } = this.#options;
    const about = aboutJob(job);
    if (error instanceof LeaseLostError) {
      log.warn(about, 'lost the lease of the job');
      // A photo may have been stored after the files of a deleted job were erased.
      if (await isDeleted(db, job.id)) await files.limit('erasing an input', inputs.erase(job.id));
    } else if (error instanceof ReleasedError) {
      await release(db, job.lease);
      log.info(about, 'returned the job to the queue');
    } else if (isTemporary) {
      await release(db, job.lease, { ms: unavailablePauseMs, now: currentTime(db) });
    } else if (error instanceof GaveWayError) {
      await this.change(job, (trx, now) => failAttempt(trx, job.lease, failedAttemptPauseMs, now));
      log.info(about, 'the image host is slow; the job waits, so that another account can fetch');
    } else if (error instanceof JobFailure) {
      const forgotten = await this.change(job, (trx, now) => fail(trx, job.lease, error, now));
      observer.failed();
      log.info({ ...about, code: error.code, reason: error.message, detail: String(error.cause ?? '') }, 'job failed');
      if (forgotten !== undefined) {
        await files.limit('removing an input', inputs.remove(forgotten));
      }
    } else {
      const isOutage = outageReason(error) !== undefined;
      if (!isOutage) log.error({ ...about, ...failureReason(error) }, 'the attempt failed unexpectedly');
      const ownReason = error instanceof AttemptFailure ? error.message : undefined;
      const reason = isOutage ? outageForClients : ownReason;
      const pauseMs = failedAttemptPauseMs;
      const again = await this.change(job, (trx, now) => failAttempt(trx, job.lease, pauseMs, now, reason));
      if (!again) observer.failed();
    }
  }

  /** Stops the work on jobs whose leases can no longer be renewed. */
  async #renewLeases({ withProgress = false } = {}): Promise<void> {
    if (this.#held.size === 0) return;
    const { db, onEvent } = this.#options;
    const all = [...this.#held.values()];
    const leases = all.map(({ job, reached }) => ({ ...job.lease, reached: withProgress ? reached : undefined }));
    const kept = await renew(db, leases, { now: currentTime(db), leaseMs: this.#leaseMs });
    for (const { job, abort } of all) {
      if (!kept.has(job.lease.token)) abort.abort(new LeaseLostError(job.id));
    }
    if (leases.some(({ reached }) => reached !== undefined)) onEvent();
  }
}
