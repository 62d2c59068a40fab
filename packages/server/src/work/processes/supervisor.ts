import { createRequire } from 'node:module';
import type { ExitError } from '@gen3d/engine/rpc';
import type { Logger } from 'pino';
import { withoutSettings } from '../../base/environment.js';
import { routineLevel } from '../../base/log.js';
import type { ChosenBundles, Config } from '../../config.js';
import { failureReason } from '../../data/db/unavailable.js';
import { type ChildKind, SupervisedChild } from './child.js';
import type { JobMessage, RunnerDevice, StartOptions } from './messages.js';

/** The package's name finds modules from the built package and from the sources. */
const { resolve } = createRequire(import.meta.url);
const runnerFile = resolve('@gen3d/server/runner');
const preparerFile = resolve('@gen3d/server/preparer');

const firstPauseMs = 250;
const maxPauseMs = 30_000;
/** After a process that ran for this long or did useful work, the restart pauses start over. */
const stableMs = 60_000;
/**
 * How long a runner stays on the CPU after its device has failed again. After the first failure it does not stay at all,
 * so a transient failure costs one slow job. While the device keeps failing, the time doubles.
 */
const firstDeviceRetryMs = 60_000;
const maxDeviceRetryMs = 3_600_000;
/** Time beyond the grace period of a drain before a process is killed. */
const killAfterMs = 2_000;

export interface SupervisorOptions {
  config: Config;
  log: Logger;
  onJobMessage: (message: JobMessage) => void;
  /** Called when a child process has ended, before it is replaced. Must release its leases. */
  onExit: (id: string) => Promise<void>;
  /** Called when a child process crashed, or was killed because it hung. */
  onCrash: (how: 'crashed' | 'hung') => void;
}

/** The engine could not be opened when the server started. */
export class RunnerStartError extends Error {
  override readonly name = 'RunnerStartError';
}

/** Starts `config.workers` runner processes and one preparer, and restarts each when it ends. */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #children = new Set<SupervisedChild>();
  readonly #restarts = new Set<NodeJS.Timeout>();
  /** Processes that have ended and whose `onExit` is still running. */
  readonly #exits = new Set<Promise<void>>();
  /** The bundles that each runner process was started with. */
  readonly #bundlesOf = new WeakMap<SupervisedChild, ChosenBundles>();
  #bundles: ChosenBundles;
  /** The supervisor returns to these bundles if a runner cannot open the new ones. */
  #previousBundles: ChosenBundles | undefined;
  #bundleProblem: string | null = null;
  #started = false;
  #draining = false;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    const { bundle, matte } = options.config;
    this.#bundles = { bundle, matte };
  }

  /** The bundles that the next job uses. */
  get bundles(): ChosenBundles {
    return this.#bundles;
  }

  /**
   * Starts all processes. Resolves with the device when every runner is ready, or undefined if there are no runners.
   * @throws {RunnerStartError} when a process cannot be started
   */
  async start(): Promise<RunnerDevice | undefined> {
    const { workers } = this.#options.config;
    if (workers === 0) return undefined;
    const runners = Array.from({ length: workers }, () => this.#spawn(this.#runnerKind(), firstPauseMs));
    const [device] = await Promise.all([...runners, this.#spawn(this.#preparerKind(), firstPauseMs)]);
    this.#started = true;
    return device;
  }

  /** Makes idle processes look for jobs now. */
  wake(): void {
    for (const child of this.#children) child.notify('wake');
  }

  /** Says why the bundles that were chosen last could not be opened. */
  get bundleProblem(): string | null {
    return this.#bundleProblem;
  }

  /**
   * Replaces idle runners immediately and busy ones after their job. If the new bundles cannot be opened, the runners
   * return to the previous ones.
   */
  useBundles({ bundle, matte }: ChosenBundles): void {
    if (bundle === this.#bundles.bundle && matte === this.#bundles.matte) return;
    this.#options.log.info({ bundle, matte }, 'the bundles changed; runners are replaced after their job');
    this.#previousBundles ??= this.#bundles;
    this.#bundles = { bundle, matte };
    this.#bundleProblem = null;
    for (const child of this.#children) this.#retireOutdated(child);
  }

  /** Retires a runner with old bundles. One that is not ready yet loses the message, and `#spawn` sends it again. */
  #retireOutdated(child: SupervisedChild): void {
    const bundles = this.#bundlesOf.get(child);
    if (bundles && bundles !== this.#bundles) child.notify('retire');
  }

  /**
   * Gives running inferences `graceMs` to finish and ends all processes; they hand their other jobs back. Resolves when
   * each has ended and its `onExit` is done.
   */
  async drain(graceMs: number): Promise<void> {
    this.#draining = true;
    for (const timer of this.#restarts) clearTimeout(timer);
    await Promise.all(
      [...this.#children].map((child) => {
        const kill = setTimeout(() => void child.kill(), graceMs + killAfterMs);
        child.notify('drain', graceMs);
        return child.ended.finally(() => clearTimeout(kill));
      }),
    );
    await Promise.all(this.#exits);
  }

  #runnerKind(): ChildKind {
    const { config, log, onJobMessage } = this.#options;
    const common = this.#commonKind();
    // The state of this runner across its restarts.
    let fellBack = false;
    let deviceFailed = false;
    let retryDeviceMs = 0;
    return {
      ...common,
      name: 'runner',
      file: runnerFile,
      startOptions: (id) => {
        fellBack = false;
        const options = common.startOptions(id);
        return { ...options, config: { ...options.config, ...this.#bundles }, deviceFailed, retryDeviceMs };
      },
      onMessage: (child, message) => {
        if (message.type === 'inferred') return child.clearLimit(message.jobId);
        if (message.type === 'waitedForDevice') return child.extendLimit(message.jobId, message.ms);
        if (message.type === 'hung') return this.#replaceHung(child, message.stage);
        if (message.type === 'fellBack') {
          fellBack = true;
          deviceFailed = true;
          retryDeviceMs = Math.min(Math.max(2 * retryDeviceMs, firstDeviceRetryMs), maxDeviceRetryMs);
          return;
        }
        onJobMessage(message);
        if (message.type === 'finished' && message.status === 'SUCCEEDED') {
          child.useful = true;
          if (!fellBack) {
            deviceFailed = false;
            retryDeviceMs = 0;
          }
        }
        if (message.type === 'inferring') {
          const limitSeconds = config.inferenceLimitSeconds;
          child.limit(message.jobId, limitSeconds * 1_000, () =>
            log.error(
              { runner: child.id, jobId: message.jobId, limitSeconds },
              'inference exceeded its time limit; killing the runner',
            ),
          );
        }
      },
    };
  }

  #preparerKind(): ChildKind {
    return {
      ...this.#commonKind(),
      name: 'preparer',
      file: preparerFile,
      onMessage: (child, message) => {
        if (message.type === 'inferred' || message.type === 'waitedForDevice' || message.type === 'fellBack') return;
        if (message.type === 'hung') return this.#replaceHung(child, message.stage);
        this.#options.onJobMessage(message);
        if (message.type === 'prepared') child.useful = true;
      },
    };
  }

  #commonKind() {
    const { config, log } = this.#options;
    const withoutSecrets = { ...config, bootstrapApiKey: undefined, serverKey: undefined };
    return {
      env: withoutSettings(process.env),
      startOptions: (id: string): StartOptions => ({
        id,
        config: withoutSecrets,
        logLevel: log.level,
        deviceFailed: false,
        retryDeviceMs: 0,
      }),
    };
  }

  /** Kills a process that hangs: it cannot exit by itself while a thread is blocked in a call to the file system. */
  #replaceHung(child: SupervisedChild, stage: string): void {
    this.#options.log.error({ id: child.id, stage }, 'a file system does not respond; replacing the process');
    child.hung = true;
    void child.kill();
  }

  /** Resolves when the process is ready, with the device of a runner. Rejects when the process ends before that. */
  async #spawn(kind: ChildKind, pauseMs: number): Promise<RunnerDevice | undefined> {
    const { config, log, onExit } = this.#options;
    const child: SupervisedChild = new SupervisedChild(kind, {
      report: (message) => kind.onMessage(child, message),
    });
    const { id, pid } = child;
    this.#children.add(child);
    if (kind.name === 'runner') this.#bundlesOf.set(child, this.#bundles);
    const started = child.start(kind.startOptions(id));
    const exit = child.ended.then(async (end) => {
      this.#children.delete(child);
      await onExit(id).catch((error: unknown) => {
        log.error({ [kind.name]: id, ...failureReason(error) }, 'cannot release the leases');
      });
      await started.catch(() => {});
      this.#exits.delete(exit);
      if (this.#draining) return;
      this.#restart(kind, this.#returnToPreviousBundles(child) ? 0 : this.#pauseAfter(kind, child, end, pauseMs));
    });
    this.#exits.add(exit);
    const device = await started.catch(async (error: Error) => {
      await exit;
      throw new RunnerStartError(error.message, { cause: error });
    });
    log[this.#started ? 'info' : routineLevel(config)](
      { [kind.name]: id, pid, device: device?.provider },
      `${kind.name} is ready`,
    );
    // The process lost these messages if they were sent before it was ready.
    if (this.#draining) child.notify('drain', 0);
    this.#retireOutdated(child);
    if (this.#bundlesOf.get(child) === this.#bundles) this.#previousBundles = undefined;
    return device;
  }

  /** Returns to the previous bundles after a runner could not open the new ones. False if there are none. */
  #returnToPreviousBundles(child: SupervisedChild): boolean {
    const failed = this.#bundlesOf.get(child);
    if (child.ready || !failed || failed !== this.#bundles || !this.#previousBundles) return false;
    this.#bundles = this.#previousBundles;
    this.#previousBundles = undefined;
    this.#bundleProblem = child.problem ?? null;
    this.#options.log.error(
      { ...failed, problem: child.problem, kept: this.#bundles },
      'a runner cannot open the new bundles; the previous ones stay in use',
    );
    return true;
  }

  /** Logs the end of a process. Returns the pause before its restart, which is 0 if it exited normally. */
  #pauseAfter({ name }: ChildKind, child: SupervisedChild, { code, signal }: ExitError, pauseMs: number): number {
    const { log, onCrash } = this.#options;
    const fields = { [name]: child.id };
    if (code === 0) {
      log.info(fields, `${name} exited normally; restarting it`);
      return 0;
    }
    onCrash(child.hung ? 'hung' : 'crashed');
    const restartMs = child.useful || Date.now() - child.startedAt > stableMs ? firstPauseMs : pauseMs;
    const how = child.ready ? { code, signal } : { problem: child.problem };
    log.error({ ...fields, ...how, restartMs }, `${name} crashed`);
    return restartMs;
  }

  #restart(kind: ChildKind, pauseMs: number): void {
    const timer = setTimeout(() => {
      this.#restarts.delete(timer);
      const nextPauseMs = Math.min(Math.max(2 * pauseMs, firstPauseMs), maxPauseMs);
      // Its `ended` handler logs a failure and schedules the next restart.
      this.#spawn(kind, nextPauseMs).catch(() => {});
    }, pauseMs);
    this.#restarts.add(timer);
  }
}
