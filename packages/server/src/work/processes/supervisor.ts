import { createRequire } from 'node:module';
import type { Logger } from 'pino';
import type { Config } from '../../config.js';
import { whyFailed } from '../../data/db/unavailable.js';
import { Child, type ChildEnd, type ChildKind } from './child.js';
import { withoutSettings } from './environment.js';
import type { RunnerNews, ToRunner } from './messages.js';

/** By package name, so that they are found from the built package and from the sources alike. */
const { resolve } = createRequire(import.meta.url);
const runnerFile = resolve('@gen3d/server/runner');
const preparerFile = resolve('@gen3d/server/preparer');

const firstPauseMs = 250;
const maxPauseMs = 30_000;
/** The pauses start over after a process that ran for this long, or did useful work. */
const wellAfterMs = 60_000;
/**
 * How long a runner works on the CPU when its device has failed again: at first not at all, so that what was wrong for a
 * moment costs one slow job; where the device is broken for good, ever longer.
 */
const firstDeviceRetryMs = 60_000;
const maxDeviceRetryMs = 3_600_000;
/** Beyond the grace given to a drain, before a process that does not leave is killed. */
const killAfterMs = 2_000;

export interface SupervisorOptions {
  config: Config;
  log: Logger;
  /** A runner or preparer reported news about a job. Of each, once. */
  onNews: (news: RunnerNews) => void;
  /** A child process has ended; frees the leases it held. Called before another is started. */
  onExit: (id: string) => Promise<void>;
  /** A child process crashed, or was killed because it hung. */
  onCrash: (how: 'crashed' | 'hung') => void;
}

/** The bundles that runners open. */
export type ChosenBundles = Pick<Config, 'bundle' | 'matte'>;

/** The engine could not be opened when the server started. */
export class RunnerStartError extends Error {
  override readonly name = 'RunnerStartError';
}

/** Starts `config.workers` runner processes and one preparer, and each one again when it ends. */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #children = new Set<Child>();
  readonly #restarts = new Set<NodeJS.Timeout>();
  /** Of processes that have ended, until `onExit` is done. */
  readonly #endings = new Set<Promise<void>>();
  /** The bundles that each runner process was started with. */
  readonly #bundlesOf = new WeakMap<Child, ChosenBundles>();
  #bundles: ChosenBundles;
  /** The bundles to return to if a runner cannot open the new ones. */
  #previousBundles: ChosenBundles | undefined;
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
   * Resolves with the device when every runner is ready; undefined when there are none.
   * @throws {RunnerStartError} when one of them cannot be started
   */
  async start(): Promise<string | undefined> {
    const { workers } = this.#options.config;
    if (workers === 0) return undefined;
    const runners = Array.from({ length: workers }, () => this.#spawn(this.#runnerKind(), firstPauseMs));
    const [device] = await Promise.all([...runners, this.#spawn(this.#preparerKind(), firstPauseMs)]);
    return device;
  }

  /** Tells idle processes that a job is waiting. */
  wake(): void {
    for (const child of this.#children) child.send({ type: 'wake' });
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
    for (const child of this.#children) this.#retireOutdated(child);
  }

  /** A process that has not reported `ready` yet loses the message; `#spawn` sends it again then. */
  #retireOutdated(child: Child): void {
    const bundles = this.#bundlesOf.get(child);
    if (bundles && bundles !== this.#bundles) child.send({ type: 'retire' });
  }

  /**
   * Lets running inferences finish for up to `graceMs`, has the rest handed back, and resolves when all are gone and
   * `onExit` is done with each.
   */
  async drain(graceMs: number): Promise<void> {
    this.#draining = true;
    for (const timer of this.#restarts) clearTimeout(timer);
    await Promise.all(
      [...this.#children].map((child) => {
        const kill = setTimeout(() => child.kill(), graceMs + killAfterMs);
        child.send({ type: 'drain', graceMs });
        return child.ended.finally(() => clearTimeout(kill));
      }),
    );
    await Promise.all(this.#endings);
  }

  #runnerKind(): ChildKind {
    const { config, log, onNews } = this.#options;
    const common = this.#commonOfKinds();
    // Of this runner's process, and of those before it.
    let fellBack = false;
    let deviceFailed = false;
    let retryDeviceMs = 0;
    return {
      ...common,
      name: 'runner',
      file: runnerFile,
      startMessage: (runner) => {
        fellBack = false;
        const message = common.startMessage(runner);
        const config = { ...message.config, ...this.#bundles };
        return { ...message, config, deviceFailed, retryDeviceMs } satisfies ToRunner;
      },
      onMessage: (child, message) => {
        if (message.type === 'idle') return child.clearLimit();
        if (message.type === 'hung') return this.#replaceHung(child, message.stage);
        if (message.type === 'fellBack') {
          fellBack = true;
          deviceFailed = true;
          retryDeviceMs = Math.min(Math.max(2 * retryDeviceMs, firstDeviceRetryMs), maxDeviceRetryMs);
          return;
        }
        onNews(message);
        if (message.type === 'finished' && message.status === 'SUCCEEDED') {
          child.useful = true;
          if (!fellBack) {
            deviceFailed = false;
            retryDeviceMs = 0;
          }
        }
        if (message.type === 'inferring') {
          const limitSeconds = config.inferenceLimitSeconds;
          child.limit(limitSeconds * 1_000, () =>
            log.error({ runner: child.id, jobId: message.jobId, limitSeconds }, 'inference hangs'),
          );
        }
      },
    };
  }

  #preparerKind(): ChildKind {
    return {
      ...this.#commonOfKinds(),
      name: 'preparer',
      file: preparerFile,
      onMessage: (child, message) => {
        if (message.type === 'idle' || message.type === 'fellBack') return;
        if (message.type === 'hung') return this.#replaceHung(child, message.stage);
        this.#options.onNews(message);
        if (message.type === 'prepared') child.useful = true;
      },
    };
  }

  #commonOfKinds() {
    const { config, log } = this.#options;
    // They need neither the first account's key nor the server's.
    const own = { ...config, bootstrapApiKey: undefined, serverKey: undefined };
    return {
      env: withoutSettings(process.env),
      startMessage: (runner: string) =>
        ({
          type: 'start',
          runner,
          config: own,
          logLevel: log.level,
          deviceFailed: false,
          retryDeviceMs: 0,
        }) satisfies ToRunner,
    };
  }

  /** It cannot exit by itself while a thread is stuck in a call to the file system. */
  #replaceHung(child: Child, stage: string): void {
    this.#options.log.error({ id: child.id, stage }, 'a file system does not respond; the process is replaced');
    child.hung = true;
    child.kill();
  }

  /** Resolves with the device, if it has one, when the process is ready, and rejects when it ends before that. */
  #spawn(kind: ChildKind, pauseMs: number): Promise<string | undefined> {
    const { log } = this.#options;
    return new Promise((resolve, reject) => {
      const child = new Child(kind, ({ id, pid, device }) => {
        log.info({ [kind.name]: id, pid, device }, `${kind.name} is ready`);
        resolve(device);
        // A drain that was sent earlier is lost: the process did not listen yet.
        if (this.#draining) child.send({ type: 'drain', graceMs: 0 });
        this.#retireOutdated(child);
        if (this.#bundlesOf.get(child) === this.#bundles) this.#previousBundles = undefined;
      });
      this.#children.add(child);
      if (kind.name === 'runner') this.#bundlesOf.set(child, this.#bundles);
      const ending = child.ended.then(async (end) => {
        this.#children.delete(child);
        await this.#options.onExit(child.id).catch((error: unknown) => {
          log.error({ [kind.name]: child.id, ...whyFailed(error) }, 'cannot end the leases');
        });
        this.#endings.delete(ending);
        if (!child.ready) reject(new RunnerStartError(child.problem));
        if (this.#draining) return;
        this.#restart(kind, this.#returnToPreviousBundles(child) ? 0 : this.#pauseAfter(kind, child, end, pauseMs));
      });
      this.#endings.add(ending);
    });
  }

  /** After a runner that could not open new bundles. Returns whether there were bundles to return to. */
  #returnToPreviousBundles(child: Child): boolean {
    const failed = this.#bundlesOf.get(child);
    if (child.ready || !failed || failed !== this.#bundles || !this.#previousBundles) return false;
    this.#bundles = this.#previousBundles;
    this.#previousBundles = undefined;
    this.#options.log.error(
      { ...failed, problem: child.problem, kept: this.#bundles },
      'a runner cannot open the new bundles; the previous ones stay in use',
    );
    return true;
  }

  /** Logs the end of a process. How long to wait before the next one is started: not at all if it made room for it. */
  #pauseAfter({ name }: ChildKind, child: Child, { code, signal }: ChildEnd, pauseMs: number): number {
    const { log, onCrash } = this.#options;
    const about = { [name]: child.id };
    if (code === 0) {
      log.info(about, `${name} made room for a fresh one`);
      return 0;
    }
    onCrash(child.hung ? 'hung' : 'crashed');
    const restartMs = child.useful || Date.now() - child.startedAt > wellAfterMs ? firstPauseMs : pauseMs;
    const problem = child.ready ? {} : { problem: child.problem };
    log.error({ ...about, code, signal, restartMs, ...problem }, `${name} crashed`);
    return restartMs;
  }

  #restart(kind: ChildKind, pauseMs: number): void {
    const timer = setTimeout(() => {
      this.#restarts.delete(timer);
      const nextPauseMs = Math.min(Math.max(2 * pauseMs, firstPauseMs), maxPauseMs);
      // Its end is logged, and leads back here.
      this.#spawn(kind, nextPauseMs).catch(() => {});
    }, pauseMs);
    this.#restarts.add(timer);
  }
}
