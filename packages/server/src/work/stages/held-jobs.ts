import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { isDiskFull } from '../../base/disk-full.js';
import type { Db } from '../../data/db/open.js';
import { after, currentTime } from '../../data/db/time.js';
import { isUnavailable, mayBeCommitted, whyFailed } from '../../data/db/unavailable.js';
import type { InputStore } from '../../data/inputs/input-store.js';
import { UnreadablePhotoError } from '../../data/inputs/unreadable.js';
import { type ClaimedJob, handBack, handBackUnknown, renew } from '../../data/jobs/claim.js';
import { JobFailure } from '../../data/jobs/failures.js';
import { advance, breakOff, fail, LeaseLostError } from '../../data/jobs/lifecycle.js';
import { isStorageUnavailable } from '../../data/s3/unavailable.js';
import type { FromRunner } from '../processes/messages.js';
import { StageTimeoutError, withStageTimeout } from './stage-timeout.js';
import { TemporaryFailure } from './temporary-failure.js';

/** Pause before another attempt at a job that broke off unexpectedly. */
const breakOffPauseMs = 2_000;
/** Pause before a job is tried again that failed only because something the service needs is unavailable. */
const unavailablePauseMs = 15_000;
/** A job older than this loses an attempt when its input cannot be read. Before, the operator has time to repair that. */
const unreadableInputMs = 60 * 60_000;
/** Interval between tries to write to the database while it is unavailable. */
const retryMs = 1_000;

export interface HeldJobsOptions {
  /** The name of this process in the leases that it takes. */
  name: string;
  db: Db;
  inputs: InputStore;
  leaseMs: number;
  /** For removing an input. */
  stageTimeoutMs: number;
  notify: (message: FromRunner) => void;
  log: Logger;
}

/** A job whose lease this process holds. */
export interface HeldJob {
  readonly job: ClaimedJob;
  /** Aborted with a `LeaseLostError` or `HandBack` when the work on it must stop. */
  readonly abort: AbortController;
  readonly claimedAt: number;
}

/** Why the work on a job stops early: this process is about to exit, and another one takes over. */
class HandBack extends Error {
  override readonly name = 'HandBack';
}

/** The fields that all log entries about a job have in common; `trace_id` is spelled as in OpenTelemetry. */
export const aboutJob = ({ id, attempt, trace_id }: ClaimedJob) => ({
  jobId: id,
  attempt,
  ...(trace_id === null ? {} : { trace_id }),
});

/** Why nothing is wrong with the job itself, as a log message, or undefined. */
function temporaryProblem(error: unknown, job: ClaimedJob): string | undefined {
  if (isDiskFull(error)) return 'no space left; the job waits';
  if (isStorageUnavailable(error)) return 'the object store is away; the job waits';
  if (error instanceof TemporaryFailure) return `${error.message}; the job waits`;
  if (job.waitedMs >= unreadableInputMs) return undefined;
  if (error instanceof UnreadablePhotoError) return 'the photo cannot be read; the job waits';
  if (error instanceof StageTimeoutError) return 'a file system does not respond; the job waits';
  return undefined;
}

/** The jobs that a process works on: claims them, keeps their leases, and ends their attempts. */
export class HeldJobs {
  readonly #options: HeldJobsOptions;
  readonly #held = new Set<HeldJob>();
  #draining = false;
  /** The response to the last claim was lost, so the database may have given this process a job. */
  #claimInDoubt = false;

  constructor(options: HeldJobsOptions) {
    this.#options = options;
  }

  /** Whether it holds no job. */
  get idle(): boolean {
    return this.#held.size === 0;
  }

  get draining(): boolean {
    return this.#draining;
  }

  /** Renews the leases, four times before they would run out. Returns a function that stops it. */
  keepLeases(): () => void {
    const { leaseMs, log } = this.#options;
    const timer = setInterval(() => {
      this.#renewLeases().catch((error: unknown) => {
        // The outage of a database is logged elsewhere.
        if (!isUnavailable(error)) log.error({ err: error }, 'cannot renew leases');
      });
    }, leaseMs / 4);
    return () => clearInterval(timer);
  }

  /** Holds the job that `next` claims, if any. A job claimed while a drain started is handed back. */
  async claim(next: () => Promise<ClaimedJob | undefined>): Promise<HeldJob | undefined> {
    const { db, name, notify, log } = this.#options;
    let job: ClaimedJob | undefined;
    try {
      // Renewed first: after this process was suspended, the next free job could be one that it still works on.
      await this.#renewLeases();
      if (this.#claimInDoubt) {
        const known = [...this.#held].map(({ job: { lease } }) => lease);
        await handBackUnknown(db, name, known);
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
  async work(held: HeldJob, work: () => Promise<void>): Promise<unknown> {
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

  /** Hands all jobs back without waiting until the work on them has stopped: its writes find the lease gone. */
  async handBackAll(): Promise<void> {
    const { db, log } = this.#options;
    for (const { job, abort } of this.#held) {
      abort.abort(new HandBack());
      await handBack(db, job.lease).catch((error: unknown) =>
        log.error({ ...aboutJob(job), ...whyFailed(error) }, 'cannot hand the job back'),
      );
    }
  }

  async advance({ lease }: ClaimedJob, status: 'PENDING' | 'IN_PROGRESS', progress: number): Promise<void> {
    const { db, notify } = this.#options;
    await this.whenAvailable(() => advance(db, lease, { status, progress }, currentTime(db)));
    notify({ type: 'changed' });
  }

  /**
   * Repeats a request to the database while that is unavailable, so that a restart of PostgreSQL does not discard the work on
   * a job. Afterwards, the token of the lease shows whether the job is still held.
   */
  async whenAvailable<T>(request: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await request();
      } catch (error) {
        if (!isUnavailable(error) || this.#draining) throw error;
        await pause(retryMs);
      }
    }
  }

  /** Ends the attempt at a job that stopped early. */
  async #end({ job, abort }: HeldJob, thrown: unknown): Promise<void> {
    const { log } = this.#options;
    // An aborted engine or fetch throws its own error; the signal's reason says why it was aborted.
    const error: unknown = abort.signal.aborted ? abort.signal.reason : thrown;
    const about = aboutJob(job);
    const problem = temporaryProblem(error, job);
    if (problem) log.error({ ...about, err: error }, problem);
    for (;;) {
      try {
        return await this.#conclude(job, error, problem !== undefined);
      } catch (ending) {
        if (!(isDiskFull(ending) || isUnavailable(ending)) || this.#draining) {
          // The lease stays and runs out; then the job is claimed again or reaped.
          return log.error({ ...about, ...whyFailed(ending) }, 'cannot end the attempt');
        }
        // If the lease ran out instead, the attempt would count. Another process cannot claim the job meanwhile either.
        await pause(retryMs);
      }
    }
  }

  async #conclude(job: ClaimedJob, error: unknown, isTemporary: boolean): Promise<void> {
    const { db, inputs, stageTimeoutMs, notify, log } = this.#options;
    const about = aboutJob(job);
    if (error instanceof LeaseLostError) {
      log.warn(about, 'lost the lease; somebody else has the job');
    } else if (error instanceof HandBack) {
      await handBack(db, job.lease);
      log.info(about, 'handed the job back');
    } else if (isTemporary) {
      await handBack(db, job.lease, after(currentTime(db), unavailablePauseMs));
    } else if (error instanceof JobFailure) {
      await fail(db, job.lease, error, currentTime(db));
      notify({ type: 'finished', status: 'FAILED' });
      log.info({ ...about, code: error.code, reason: error.message, detail: String(error.cause ?? '') }, 'job failed');
      await withStageTimeout('removing the input', stageTimeoutMs, inputs.remove(job.id));
    } else {
      log.error({ ...about, ...whyFailed(error) }, 'the attempt broke off');
      const again = await breakOff(db, job.lease, breakOffPauseMs, currentTime(db));
      if (!again) notify({ type: 'finished', status: 'FAILED' });
      notify({ type: 'changed' });
    }
  }

  async #renewLeases(): Promise<void> {
    if (this.#held.size === 0) return;
    const { db, leaseMs } = this.#options;
    const all = [...this.#held];
    const renewed = await renew(
      db,
      all.map(({ job }) => job.lease),
      { now: currentTime(db), leaseMs },
    );
    for (const { job, abort } of all) {
      if (!renewed.has(job.lease.token)) abort.abort(new LeaseLostError(job.id));
    }
  }
}
