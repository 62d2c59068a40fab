import type { Logger } from 'pino';
import { isDiskFull, isStorageUnavailable } from '../base/errors.js';
import type { Stage } from '../data/jobs/claim.js';
import { TemporaryFailure } from './stage-failures.js';

const firstPauseMs = 2_000;
const maxPauseMs = 60_000;

/** After this long, the jobs that cannot be worked on lose attempts, so that each of them ends. */
export const maxOutageMs = 24 * 60 * 60_000;

/** Returns what the stage lacks, for its log, if that is why the job failed. */
export function outageReason(error: unknown): string | undefined {
  if (isDiskFull(error)) return 'no disk space left';
  if (isStorageUnavailable(error)) return error.message;
  return error instanceof TemporaryFailure ? error.message : undefined;
}

/**
 * Tells whether a stage has what its jobs need: a model server, space on a disk, a bucket. If not, the stage claims
 * nothing, and after pauses that double, tries again with one job. If the missing part has a probe, that must succeed
 * first. The first job that can be worked on ends the outage. The log names each reason once.
 */
export class StageOutage {
  readonly #stage: Stage;
  readonly #log: Logger;
  /** Undefined while the stage works. */
  #reason: string | undefined;
  #since = 0;
  #pauseMs = 0;
  /** Infinity during a probe. */
  #nextTry = 0;
  /** Whether one job may be claimed, to try. */
  #isReady = false;
  #isDown = false;

  constructor(stage: Stage, log: Logger) {
    this.#stage = stage;
    this.#log = log;
  }

  /** When the outage started, unless the last try or probe has shown that it may be over. */
  get pausedSince(): number | undefined {
    return this.#isDown ? Math.round(Date.now() - performance.now() + this.#since) : undefined;
  }

  /** Whether a job may be claimed. Starts the next probe if it is due. */
  mayClaim(probe?: () => Promise<Error | undefined>): boolean {
    const now = performance.now();
    if (this.#reason !== undefined && !this.#isReady && now >= this.#nextTry) {
      this.#nextTry = Number.POSITIVE_INFINITY;
      if (!probe || now - this.#since >= maxOutageMs) this.#becomeReady();
      else void probe().then((problem) => this.#probed(problem));
    }
    return this.#reason === undefined || this.#isReady;
  }

  /** Records that a job was claimed. During an outage, the next one is claimed after a longer pause. */
  claimed(): void {
    if (this.#isReady) this.#pause();
  }

  /** Starts or continues an outage. @param reason for the log, without details that change */
  failed(reason: string, details: object = {}): void {
    if (reason !== this.#reason) this.#log.error({ stage: this.#stage, ...details }, `${reason}; jobs wait`);
    if (this.#reason === undefined) this.#since = performance.now();
    const isPause = this.#reason !== undefined && Number.isFinite(this.#nextTry) && !this.#isReady;
    this.#reason = reason;
    this.#isDown = true;
    if (!isPause) this.#pause();
  }

  /** Ends the outage, because a job was finished, or failed for a reason of its own. */
  succeeded(): void {
    if (this.#reason !== undefined) this.#log.info({ stage: this.#stage }, 'jobs continue after an outage');
    this.#reason = undefined;
    this.#pauseMs = 0;
    this.#isReady = false;
    this.#isDown = false;
  }

  /** Some servers answer requests without a photo with errors of their own. Only a job shows whether they work. */
  #probed(problem: Error | undefined): void {
    if (problem instanceof TemporaryFailure) this.failed(problem.message);
    else this.#becomeReady();
  }

  #becomeReady(): void {
    this.#isReady = true;
    this.#isDown = false;
  }

  #pause(): void {
    this.#isReady = false;
    this.#pauseMs = Math.min(Math.max(2 * this.#pauseMs, firstPauseMs), maxPauseMs);
    this.#nextTry = performance.now() + this.#pauseMs;
  }
}
