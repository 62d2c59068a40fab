import { setTimeout as pause } from 'node:timers/promises';
import { nextTurn } from '../base/next-turn.js';
import { currentTime } from '../data/db/time.js';
import { isUnavailable } from '../data/db/unavailable.js';
import { stagesWithJobs } from '../data/jobs/claim.js';
import type { JobStage } from '../data/jobs/stage-times.js';
import { type ActiveJob, ActiveJobs, type Opening, type WorkContext } from './active-jobs.js';
import { FileAccess } from './file-access.js';
import { Inference } from './infer.js';
import { Preparation } from './prepare.js';
import type { RunnerDevice } from './runner/runner.js';
import { StageTimeoutError } from './stage-failures.js';

/** Interval at which a machine looks for jobs without being woken. */
const pollMs = 1_000;
/** Extra time after the grace period of a drain, for what jobs still do after their release. */
const settleMs = 2_000;

export interface WorkerOptions extends Omit<WorkContext, 'files'> {
  /** Time limit for an access to a stored file. Default: 2 minutes. */
  fileTimeoutMs?: number | undefined;
}

/**
 * Works on jobs, several at a time, each under a lease of its own. One loop claims jobs for both stages, preparation
 * and inference. This process holds the database and the files; its children compute, and have neither.
 */
export class Worker {
  readonly #context: WorkContext;
  readonly #jobs: ActiveJobs;
  readonly #stages: { readonly inference: Inference; readonly preparation: Preparation };
  #waking = new AbortController();
  readonly #inProgress = new Set<Promise<void>>();
  #running: Promise<void> = Promise.resolve();
  #stopKeepingLeases: () => void = () => {};

  constructor({ fileTimeoutMs, ...options }: WorkerOptions) {
    this.#context = { ...options, files: new FileAccess(options.log, fileTimeoutMs) };
    this.#jobs = new ActiveJobs(this.#context);
    this.#stages = {
      inference: new Inference(this.#context, this.#jobs),
      preparation: new Preparation(this.#context, this.#jobs),
    };
  }

  /** Starts the children, then the work, if there are runners. @throws {RunnerStartError} if a child does not start */
  async start(): Promise<RunnerDevice | undefined> {
    const device = await this.#context.children.start(() => this.wake(), this.#jobs.outages);
    if (!device) return undefined;
    this.#stopKeepingLeases = this.#jobs.keepLeases();
    this.#running = this.#claimUntilDrained();
    return device;
  }

  /** Looks for a job now, or at once after the present search. */
  wake(): void {
    // Each call to `abort` creates an error with a stack.
    if (!this.#waking.signal.aborted) this.#waking.abort();
  }

  /** Stops the work on jobs that were canceled. */
  checkLeases(): void {
    this.#jobs.checkLeases();
  }

  /** Returns the stage that the inference of a job has reached, if it runs on this machine. */
  runningStage(jobId: string): JobStage | undefined {
    return this.#jobs.runningStage(jobId);
  }

  /** True while a file system does not respond. */
  get filesHang(): boolean {
    return this.#context.files.hangs;
  }

  /**
   * Claims nothing more, gives running inferences `graceMs` to finish, releases the other jobs, and ends the children.
   */
  async drain(graceMs: number): Promise<void> {
    this.#jobs.stopClaiming();
    this.wake();
    await this.#jobs.releaseAll('preparation');
    const finished = () => Promise.all([this.#running, ...this.#inProgress]);
    await Promise.race([finished(), pause(graceMs, undefined, { ref: false })]);
    await this.#jobs.releaseAll();
    await this.#context.children.stop();
    await Promise.race([finished(), pause(settleMs, undefined, { ref: false })]);
    this.#stopKeepingLeases();
  }

  async #claimUntilDrained(): Promise<void> {
    while (!this.#jobs.draining) {
      await nextTurn();
      if (await this.#claimOnce()) continue;
      await pause(pollMs, undefined, { signal: this.#waking.signal }).catch(() => {});
      this.#waking = new AbortController();
    }
  }

  /** Claims at most one job per stage. Resolves with whether there was one. */
  async #claimOnce(): Promise<boolean> {
    const { db, files, log } = this.#context;
    const openings = (['inference', 'preparation'] as const).flatMap((stage) => {
      const opening = this.#stages[stage].opening();
      return opening && this.#jobs.outages[stage].mayClaim(opening.probe) ? [{ stage, opening }] : [];
    });
    if (files.hangs || openings.length === 0) return false;
    const waiting = await stagesWithJobs(db, currentTime(db)).catch((error: unknown) => {
      // Outages are logged elsewhere.
      if (!isUnavailable(error)) log.error({ err: error }, 'cannot look for jobs');
    });
    let found = false;
    for (const { stage, opening } of openings) {
      // A job that a claim without a response has taken is not among those that wait.
      const mayFind = waiting && (waiting.has(stage) || this.#jobs.isInDoubt(opening.holder));
      const held = mayFind && (await this.#jobs.claim(stage, opening.holder, opening.claim));
      if (!held) continue;
      found = true;
      this.#work(held, opening);
    }
    return found;
  }

  #work(held: ActiveJob, opening: Opening): void {
    const working = this.#jobs
      .work(held, () => opening.work(held))
      .then(async (error) => {
        // Other machines may reach the files.
        if (error instanceof StageTimeoutError) await this.#jobs.releaseAll();
      })
      .finally(() => {
        this.#inProgress.delete(working);
        this.wake();
      });
    this.#inProgress.add(working);
  }
}
