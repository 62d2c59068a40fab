import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { isDiskFull, isStorageUnavailable } from '../../base/errors.js';
import type { Db } from '../../data/db/database.js';
import { currentTime } from '../../data/db/time.js';
import { failureReason, isUnavailable, mayBeCommitted } from '../../data/db/unavailable.js';
import type { InputStore } from '../../data/inputs/input-store.js';
import { UnreadableImageError } from '../../data/inputs/input-store.js';
import { type ClaimedJob, release, releaseUnknown, renew, stillHeld } from '../../data/jobs/claim.js';
import { JobFailure } from '../../data/jobs/failures.js';
import { advance, fail, failAttempt, type Lease, LeaseLostError, prepareAgain } from '../../data/jobs/lifecycle.js';
import type { FromChild } from '../processes/messages.js';
import {
  AttemptFailure,
  GaveWayError,
  StageTimeoutError,
  TemporaryFailure,
  withStageTimeout,
} from './stage-failures.js';

/** How often a process checks whether its jobs were canceled. */
const watchMs = 500;
/** Pause before the next attempt after an unexpected failure. */
const failedAttemptPauseMs = 2_000;
/** Pause before the next attempt after a temporary failure. */
const unavailablePauseMs = 15_000;
/** A job older than this loses an attempt when its input cannot be read. Until then, the operator can fix the cause. */
const unreadableInputMs = 60 * 60_000;
/** Interval between retries while the database or the object store is unavailable. */
const retryMs = 1_000;

export interface ActiveJobsOptions {
  /** Names this process in the leases that it takes. */
  name: string;
  db: Db;
  inputs: InputStore;
  leaseMs: number;
  /** Time limit for removing an input. */
  stageTimeoutMs: number;
  notify: (message: FromChild) => void;
  log: Logger;
}

/** A job whose lease this process holds. */
export interface ActiveJob {
  readonly job: ClaimedJob;
  /** Aborted with a `LeaseLostError` or `HandBack` when the work on it must stop. */
  readonly abort: AbortController;
  readonly claimedAt: number;
}

/** Why the work on a job stops early: this process is about to exit, and another one takes over. */
class HandBack extends Error {
  override readonly name = 'HandBack';
}

/** Returns the fields of every log entry about a job. `trace_id` is spelled as in OpenTelemetry. */
export const aboutJob = ({ id, label, attempt, trace_id }: ClaimedJob) => ({
  jobId: id,
  ...(label === null ? {} : { label }),
  attempt,
  ...(trace_id === null ? {} : { trace_id }),
});

/** Whether the image is missing, but can be fetched again, because the job has a URL. */
const isFetchable = (error: unknown, job: ClaimedJob): boolean =>
  error instanceof UnreadableImageError && error.isMissing && job.image_url !== null;

/** Returns the log message for a failure that is not the job's fault and will pass. Undefined for other failures. */
function temporaryFailure(error: unknown, job: ClaimedJob): string | undefined {
  if (isDiskFull(error)) return 'no disk space left; the job waits';
  if (isStorageUnavailable(error)) return 'the object store is unavailable; the job waits';
  if (error instanceof TemporaryFailure) return `${error.message}; the job waits`;
  if (job.waitedMs >= unreadableInputMs) return undefined;
  if (isFetchable(error, job)) return 'the prepared image is missing; the job is prepared again from its URL';
  if (error instanceof UnreadableImageError) return 'the input cannot be read; the job waits';
  if (error instanceof StageTimeoutError) return 'a file system does not respond; the job waits';
  return undefined;
}

/** Claims the jobs that a process works on, keeps their leases, and ends their attempts. */
export class ActiveJobs {
  readonly #options: ActiveJobsOptions;
  readonly #held = new Set<ActiveJob>();
  #draining = false;
  /** True if the response to the last claim was lost, because the claim may have succeeded. */
  #claimInDoubt = false;

  constructor(options: ActiveJobsOptions) {
    this.#options = options;
  }

  /** True if it holds no job. */
  get idle(): boolean {
    return this.#held.size === 0;
  }

  get count(): number {
    return this.#held.size;
  }

  /** True if it holds a job that was attempted before. */
  get hasRetried(): boolean {
    return [...this.#held].some(({ job }) => job.attempt > 1);
  }

  get draining(): boolean {
    return this.#draining;
  }

  /**
   * Renews the leases, four times before they would run out, and stops the work on jobs that were canceled. Returns a
   * function that ends both.
   */
  keepLeases(): () => void {
    const { db, leaseMs, log } = this.#options;
    const every = (ms: number, task: () => Promise<void>) =>
      setInterval(() => {
        task().catch((error: unknown) => {
          // An unavailable database is logged elsewhere.
          if (!isUnavailable(error)) log.error({ err: error }, 'cannot check the leases');
        });
      }, ms);
    const timers = [
      every(leaseMs / 4, () => this.#renewLeases()),
      every(watchMs, () => this.#leaveLost((leases) => stillHeld(db, leases))),
    ];
    return () => timers.forEach(clearInterval);
  }

  /** Holds the job that `next` claims, if any. Hands it back if a drain has started in the meantime. */
  async claim(next: () => Promise<ClaimedJob | undefined>): Promise<ActiveJob | undefined> {
    const { db, name, notify, log } = this.#options;
    let job: ClaimedJob | undefined;
    try {
      // Renew first: after this process was suspended, the next free job could be one it still works on.
      await this.#renewLeases();
      if (this.#claimInDoubt) {
        const known = [...this.#held].map(({ job: { lease } }) => lease);
        await releaseUnknown(db, name, known);
        this.#claimInDoubt = false;
      }
      job = await next();
    } catch (error) {
      if (mayBeCommitted(error)) this.#claimInDoubt = true;
      if (!isUnavailable(error)) log.error({ err: error }, 'cannot claim a job');
    }
    if (!job) return undefined;
    const held = { job, abort: new AbortController(), claimedAt: performance.now() };
    if (this.#draining) {
      await this.#end(held, new HandBack());
      return undefined;
    }
    this.#held.add(held);
    notify({ type: 'claimed', takenOver: job.taken_over === 1 });
    return held;
  }

  /** Works on the job until it is finished or its attempt has ended. Resolves with what `work` threw, if anything. */
  async work(held: ActiveJob, work: () => Promise<void>): Promise<unknown> {
    try {
      await work();
      return undefined;
    } catch (error) {
      await this.#end(held, error);
      return error;
    } finally {
      this.#held.delete(held);
    }
  }

  stopClaiming(): void {
    this.#draining = true;
  }

  /** Hands all jobs back without waiting for the work on them to stop. That work cannot write: the leases are gone. */
  async releaseAll(): Promise<void> {
    const { db, log } = this.#options;
    for (const { job, abort } of this.#held) {
      abort.abort(new HandBack());
      await release(db, job.lease).catch((error: unknown) =>
        log.error({ ...aboutJob(job), ...failureReason(error) }, 'cannot return the job to the queue'),
      );
    }
  }

  async advance({ lease }: ClaimedJob, status: 'PENDING' | 'IN_PROGRESS', progress: number): Promise<void> {
    const { db, notify } = this.#options;
    await this.whenAvailable(() => advance(db, lease, { status, progress }, currentTime(db)));
    notify({ type: 'changed' });
  }

  /**
   * Repeats a request to the database while that is unavailable, to save the work on a job during a restart of
   * PostgreSQL. Afterwards, the token of the lease shows whether the job is still held.
   */
  whenAvailable<T>(request: () => Promise<T>): Promise<T> {
    return this.retryWhile(isUnavailable, request);
  }

  /** Repeats `task` every second while it fails with an error for which `isTemporary` returns true. A drain ends that. */
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
  async #end({ job, abort }: ActiveJob, thrown: unknown): Promise<void> {
    const { log } = this.#options;
    // An aborted engine or fetch throws its own error; the signal's reason says why it was aborted.
    const error: unknown = abort.signal.aborted ? abort.signal.reason : thrown;
    const message = temporaryFailure(error, job);
    if (message) log.error({ ...aboutJob(job), err: error }, message);
    // If the lease expired instead, the attempt would count. No other process can claim the job in the meantime either.
    const isTemporary = (failure: unknown) => isDiskFull(failure) || isUnavailable(failure);
    await this.retryWhile(isTemporary, () => this.#conclude(job, error, message !== undefined)).catch(
      (failure: unknown) => {
        // The lease expires. After that the job is claimed again, or fails if no attempts are left.
        log.error({ ...aboutJob(job), ...failureReason(failure) }, 'cannot end the attempt');
      },
    );
  }

  async #conclude(job: ClaimedJob, error: unknown, isTemporary: boolean): Promise<void> {
    const { db, inputs, stageTimeoutMs, notify, log } = this.#options;
    const about = aboutJob(job);
    if (error instanceof LeaseLostError) {
      notify({ type: 'left', jobId: job.id });
      log.warn(about, 'lost the lease of the job');
    } else if (error instanceof HandBack) {
      await release(db, job.lease);
      log.info(about, 'returned the job to the queue');
    } else if (isTemporary && isFetchable(error, job)) {
      await prepareAgain(db, job.lease, unavailablePauseMs, currentTime(db));
    } else if (isTemporary) {
      await release(db, job.lease, { ms: unavailablePauseMs, now: currentTime(db) });
    } else if (error instanceof GaveWayError) {
      await failAttempt(db, job.lease, failedAttemptPauseMs, currentTime(db));
      log.info(about, 'the image host is slow; the job waits, so that another account can fetch');
    } else if (error instanceof JobFailure) {
      const forgotten = await fail(db, job.lease, error, currentTime(db));
      notify({ type: 'finished', jobId: job.id, status: 'FAILED' });
      log.info({ ...about, code: error.code, reason: error.message, detail: String(error.cause ?? '') }, 'job failed');
      if (forgotten !== undefined) {
        await withStageTimeout('removing an input', stageTimeoutMs, inputs.remove(forgotten));
      }
    } else {
      log.error({ ...about, ...failureReason(error) }, 'the attempt failed unexpectedly');
      const reason = error instanceof AttemptFailure ? error.message : undefined;
      const again = await failAttempt(db, job.lease, failedAttemptPauseMs, currentTime(db), reason);
      if (!again) notify({ type: 'finished', jobId: job.id, status: 'FAILED' });
      notify({ type: 'changed' });
    }
  }

  #renewLeases(): Promise<void> {
    const { db, leaseMs } = this.#options;
    return this.#leaveLost((leases) => renew(db, leases, { now: currentTime(db), leaseMs }));
  }

  /** Stops the work on jobs whose leases are not among those that `keep` returns. */
  async #leaveLost(keep: (leases: readonly Lease[]) => Promise<Set<string>>): Promise<void> {
    if (this.#held.size === 0) return;
    const all = [...this.#held];
    const kept = await keep(all.map(({ job }) => job.lease));
    for (const { job, abort } of all) {
      if (!kept.has(job.lease.token)) abort.abort(new LeaseLostError(job.id));
    }
  }
}
