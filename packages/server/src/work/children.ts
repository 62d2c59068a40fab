import { hostname } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import type { HttpManifest } from '@gen3d/engine';
import { builtInBundle, findBundle, modelDirs } from '@gen3d/engine/bundles';
import { ExitError } from '@gen3d/rpc';
import type { Logger } from 'pino';
import { routineLevel } from '../base/log.js';
import { version } from '../base/version.js';
import type { Config } from '../config.js';
import { rateOf } from '../data/accounts/rates.js';
import type { Db } from '../data/db/database.js';
import { isUnavailable } from '../data/db/unavailable.js';
import type { RawImage } from '../data/inputs/stored-image.js';
import type { Stage } from '../data/jobs/claim.js';
import { keepAnnounced } from '../data/runners/registry.js';
import { DecoderPool } from './preparation/decoder-pool.js';
import { findSandbox } from './preparation/sandbox.js';
import { slotsOf, thisMachine } from './runner/capacity.js';
import { type DeviceHistory, Runner, type RunnerDevice } from './runner/runner.js';
import { RunnerChild } from './runner/runner-child.js';
import type { ModelMaker } from './runner/runner-protocol.js';
import { TemporaryFailure } from './stage-failures.js';
import type { StageOutage } from './stage-outage.js';

// The child processes that compute: decoders of images, and runners, which make models. They are functions with a
// deadline: they get no keys, no database and no stored files, and what they return is checked. This module starts
// them, and restarts them after growing pauses. docs/architecture.md lists what happens when one fails.

const firstPauseMs = 250;
const maxPauseMs = 30_000;
/** After a runner that ran for this long or made a model, the pauses start over. */
const stableMs = 60_000;

/** How to reach the model server of a bundle. */
export interface ModelServerSettings {
  manifest: HttpManifest;
  /** Longest time for one model. */
  timeoutMs: number;
  /** Whether the server may return a model's URL at another origin that is not public. */
  allowPrivateNetwork: boolean;
}

export interface ChildrenOptions {
  config: Config;
  openModelServer: (settings: ModelServerSettings, log: Logger) => Promise<ModelMaker>;
  /** Contains the list of the runners of all machines. */
  db: Db;
  /** Called when a runner crashed, or was killed because it hung. */
  onCrash: (how: 'crashed' | 'hung') => void;
  log: Logger;
}

/** A child could not be started when the server started. */
export class RunnerStartError extends Error {
  override readonly name = 'RunnerStartError';
}

/** Keeps `config.workers` runners and some decoders running. */
export class Children {
  readonly #options: ChildrenOptions;
  /** Runners that are starting or running. */
  readonly #runners = new Set<Runner>();
  #decoders: DecoderPool | undefined;
  #kept: readonly Promise<void>[] = [];
  #onReady: () => void = () => {};
  #outages: Readonly<Record<Stage, StageOutage>> | undefined;
  /** For each announced runner, a promise that settles when it has ended and is no longer in the list. */
  readonly #departures = new Set<Promise<void>>();
  readonly #stopping = new AbortController();

  constructor(options: ChildrenOptions) {
    this.#options = options;
  }

  /**
   * Starts all children. Resolves with the device when every runner is ready, or with undefined if there are no
   * runners. Calls `onReady` whenever a runner is ready, also later. During `outages`, runners are listed as paused.
   * @throws {RunnerStartError} when a child cannot be started
   */
  async start(onReady: () => void, outages: Readonly<Record<Stage, StageOutage>>): Promise<RunnerDevice | undefined> {
    const { config, log } = this.#options;
    const { bundle, device, workers } = config;
    if (workers === 0) return undefined;
    this.#onReady = onReady;
    this.#outages = outages;
    log.info({ bundle, device }, 'loading the networks and checking the devices, for some seconds up to a minute');
    const histories = Array.from({ length: workers }, (): DeviceHistory => ({ failed: false, retryMs: 0 }));
    const opening = histories.map(async (history) => ({ history, ...(await this.#open(history)) }));
    const [opened] = await Promise.all([Promise.all(opening), this.#openDecoders()]).catch((error: Error) => {
      throw new RunnerStartError(error.message, { cause: error });
    });
    this.#kept = opened.map(({ runner, history }) => this.#keepRunning(runner, history));
    return opened[0]?.device;
  }

  /** Decodes an untrusted image. @throws as `DecoderPool.decode` does */
  async decode(image: Uint8Array, accountId: string, signal: AbortSignal): Promise<RawImage> {
    if (!this.#decoders) throw new Error('The decoders have not been started');
    return this.#decoders.decode(image, accountId, signal);
  }

  /** Returns the runner that can take the most further jobs, or undefined if none can take one. */
  nextRunner(): Runner | undefined {
    const [first] = [...this.#runners].sort((a, b) => b.free - a.free);
    return first && first.free > 0 ? first : undefined;
  }

  /** Ends all children. Resolves when they have ended. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    for (const { maker } of this.#runners) maker.kill();
    this.#decoders?.stop();
    await Promise.all([...this.#kept, ...this.#departures]);
  }

  async #openDecoders(): Promise<void> {
    const { config, log } = this.#options;
    const { sandbox, isMissing, text } = await findSandbox(config.decoderSandbox);
    if (!sandbox && config.decoderSandbox === 'require') throw new Error(`--decoder-sandbox is require, but ${text}`);
    log[isMissing ? 'warn' : routineLevel(config)](text);
    if (this.#stopping.signal.aborted) return;
    this.#decoders = new DecoderPool({}, sandbox);
    this.#decoders.warmUp();
  }

  /** Starts another runner whenever the last one has ended, until `stop`. */
  async #keepRunning(first: Runner, history: DeviceHistory): Promise<void> {
    const { log, onCrash } = this.#options;
    let current: Runner | Error = first;
    for (let pauseMs = firstPauseMs; ; ) {
      const startedAt = performance.now();
      const runner: Runner | undefined = current instanceof Runner ? current : undefined;
      const end: Error = current instanceof Runner ? await current.maker.ended : current;
      if (this.#stopping.signal.aborted) return;
      if (runner?.isRetiring) log.info({ runner: runner.id }, 'replacing the runner');
      else {
        onCrash(end instanceof ExitError && end.timedOut ? 'hung' : 'crashed');
        const isStable = runner?.hasMadeModels || performance.now() - startedAt > stableMs;
        const restartMs = isStable ? firstPauseMs : pauseMs;
        const isKilled = end instanceof ExitError && end.killedByOthers;
        const problem = `${end.message}${isKilled ? ', probably for lack of memory; see `gen3d doctor`' : ''}`;
        log.error({ runner: runner?.id, problem, restartMs }, 'runner crashed');
        await pause(restartMs, undefined, { signal: this.#stopping.signal }).catch(() => {});
        pauseMs = Math.min(2 * restartMs, maxPauseMs);
      }
      current = await this.#open(history).then(
        (opened) => opened.runner,
        (error: Error) => error,
      );
    }
  }

  /** Starts a runner. Resolves when it is ready. */
  async #open(history: DeviceHistory): Promise<{ runner: Runner; device: RunnerDevice }> {
    const { config, db, log } = this.#options;
    const maker = await startMaker(this.#options, (message) => {
      log.warn({ deviceRetrySeconds: history.retryMs / 1_000 }, message);
      runner.fallBack();
    });
    const runner = new Runner(maker, history);
    this.#runners.add(runner);
    void maker.ended.then(() => this.#runners.delete(runner));
    try {
      if (this.#stopping.signal.aborted) throw new Error('the server is stopping');
      const device = await this.#openMaker(maker);
      runner.becomeReady(device, config.instance ?? device.provider);
      // A missing rate must fail the start, not the first job.
      if (!runner.fellBack)
        await rateOf(db, config, runner.instance).catch((error) => isUnavailable(error) || Promise.reject(error));
      const about = { runner: runner.id, pid: maker.pid, device: device.provider, adapter: device.adapter };
      log[this.#kept.length > 0 ? 'info' : routineLevel(config)](about, 'runner is ready');
      await this.#announce(runner, device);
      this.#onReady();
      return { runner, device };
    } catch (error) {
      maker.kill();
      await maker.ended;
      throw error;
    }
  }

  async #openMaker(maker: RunnerChild | ModelMaker): Promise<RunnerDevice> {
    const { config, log } = this.#options;
    const { bundle, matte, device, dataDir, workers, inferenceLimitSeconds } = config;
    const machine = thisMachine();
    const maxSlots = slotsOf(machine, workers, false);
    if (!(maker instanceof RunnerChild)) {
      void maker.probe?.().then((problem) => {
        if (problem instanceof TemporaryFailure) this.#outages?.inference.failed(problem.message);
        else if (problem) log.error(problem.message);
      });
      return { provider: 'cpu', slots: Math.min(maxSlots, maker.concurrency ?? maxSlots) };
    }
    const opened = await maker.open({
      bundle,
      matte,
      device,
      modelDirs: modelDirs(config),
      cacheDir: dataDir,
      // Several runners share the cores of the machine. For a single one, 0 leaves the choice to onnxruntime.
      threads: workers > 1 ? Math.max(1, Math.floor(machine.cores / workers)) : 0,
      pipelines: maxSlots,
    });
    const { provider, adapter, rejected, expectedSeconds } = opened;
    for (const { provider, problem } of rejected) log.debug({ device: provider, problem }, 'device rejected');
    if (expectedSeconds !== undefined) {
      const text = `${bundle} is designed for GPUs. On this CPU, a photo takes about ${Math.ceil(expectedSeconds)} s`;
      log.warn({ inferenceLimitSeconds }, text);
    }
    return { provider, adapter, slots: slotsOf(machine, workers, provider === 'cpu') };
  }

  /** Lists the runner for all machines while it runs. */
  async #announce(runner: Runner, { provider, adapter }: RunnerDevice): Promise<void> {
    const { config, db, log } = this.#options;
    const { bundle } = config;
    const pid = runner.maker.pid ?? 0;
    const describe = () => {
      const current = runner.fellBack
        ? { device: 'cpu', adapter: null }
        : { device: provider, adapter: adapter ?? null };
      const { inference, preparation } = this.#outages ?? {};
      const paused_since = inference?.pausedSince ?? preparation?.pausedSince ?? null;
      return { host: hostname(), pid, version, instance: runner.instance, bundle, paused_since, ...current };
    };
    const depart = await keepAnnounced(db, runner.id, describe, config.leaseSeconds * 1_000, log);
    const departure = runner.maker.ended.then(depart).finally(() => this.#departures.delete(departure));
    this.#departures.add(departure);
  }
}

/** Starts what makes models with a bundle: a runner process, or the model server that the bundle names. */
async function startMaker(
  { config, openModelServer, log }: ChildrenOptions,
  onFellBack: (message: string) => void,
): Promise<RunnerChild | ModelMaker> {
  const { bundle, inferenceLimitSeconds, leaseSeconds, allowPrivateNetwork } = config;
  const timeoutMs = inferenceLimitSeconds * 1_000;
  const manifest = bundle === builtInBundle ? undefined : (await findBundle(bundle, modelDirs(config))).manifest;
  return manifest?.kind === 'http'
    ? openModelServer({ manifest, timeoutMs, allowPrivateNetwork }, log)
    : new RunnerChild({ limitMs: timeoutMs, silentMs: leaseSeconds * 1_000, onFellBack });
}
