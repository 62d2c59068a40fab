import { type ChildProcess, fork } from 'node:child_process';
import { createRequire } from 'node:module';
import type { Logger } from 'pino';
import type { Config } from '../config.js';
import { whyFailed } from '../db/unavailable.js';
import { newUlid } from '../ids.js';
import type { FromRunner, RunnerNews, ToRunner } from './messages.js';

/** By package name, so that it is found from the built package and from the sources alike. */
const runnerFile = createRequire(import.meta.url).resolve('@gen3d/server/runner');

const firstPauseMs = 250;
const longestPauseMs = 30_000;
/** A runner that lived this long, or made a model, was well; the next crash starts the pauses over. */
const wellAfterMs = 60_000;
/** Beyond the grace given to a drain, before a runner that does not leave is killed. */
const killAfterMs = 2_000;

export interface SupervisorOptions {
  config: Config;
  log: Logger;
  /** A runner reported news about a job. Of each, once. */
  onNews: (news: RunnerNews) => void;
  /** A runner's process is gone; what it held is nobody's. Called before another is started. */
  onExit: (runner: string) => Promise<void>;
  /** A runner's process ended otherwise than it should: it crashed, or was killed because its inference hung. */
  onCrash: (how: 'crashed' | 'hung') => void;
}

/** The engine could not be opened when the server started. */
export class RunnerStartError extends Error {
  override readonly name = 'RunnerStartError';
}

/** Starts `config.workers` runner processes, and each one again when it ends. */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #children = new Set<ChildProcess>();
  readonly #restarts = new Set<NodeJS.Timeout>();
  /** Of runners whose process is gone, while `onExit` goes on. */
  readonly #endings = new Set<Promise<void>>();
  #draining = false;

  constructor(options: SupervisorOptions) {
    this.#options = options;
  }

  /**
   * Resolves with the device when every runner is ready; undefined when there are none.
   * @throws {RunnerStartError} when one of them cannot be started
   */
  async start(): Promise<string | undefined> {
    const starting = Array.from({ length: this.#options.config.workers }, () => this.#spawn(firstPauseMs));
    const devices = await Promise.all(starting);
    return devices[0];
  }

  /** Tells idle runners that a job is waiting. */
  wake(): void {
    for (const child of this.#children) send(child, { type: 'wake' });
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
        const kill = setTimeout(() => child.kill('SIGKILL'), graceMs + killAfterMs);
        const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
        send(child, { type: 'drain', graceMs });
        return gone.finally(() => clearTimeout(kill));
      }),
    );
    await Promise.all(this.#endings);
  }

  /** Resolves with the device when the runner is ready, and rejects when it ends before that. */
  #spawn(pauseMs: number): Promise<string> {
    const { config, log, onNews, onExit, onCrash } = this.#options;
    const runner = newUlid();
    const bornAt = Date.now();
    const child = fork(runnerFile, [], { execArgv: [], stdio: ['ignore', 2, 2, 'ipc'] });
    this.#children.add(child);
    // The runner has no use for the first account's key, nor for the server's.
    const own = { ...config, bootstrapApiKey: undefined, serverKey: undefined };
    send(child, { type: 'start', runner, config: own, logLevel: log.level });
    return new Promise((resolve, reject) => {
      let ready = false;
      let madeModel = false;
      let problem = 'the runner process ended before it was ready';
      // Kept here and not in the runner: whatever hangs there, this clock goes on.
      let hung: NodeJS.Timeout | undefined;
      let hangs = false;
      child.on('message', (message: FromRunner) => {
        if (message.type === 'ready') {
          ready = true;
          log.info({ runner, pid: child.pid, device: message.device }, 'runner is ready');
          resolve(message.device);
          // The first one was lost: until now nobody listened.
          if (this.#draining) send(child, { type: 'drain', graceMs: 0 });
        } else if (message.type === 'failed') {
          problem = message.message;
        } else if (message.type === 'inferring') {
          onNews(message);
          hung = setTimeout(() => {
            hangs = true;
            log.error({ runner, jobId: message.jobId, limitSeconds: config.inferenceLimitSeconds }, 'inference hangs');
            child.kill('SIGKILL');
          }, config.inferenceLimitSeconds * 1_000);
        } else if (message.type === 'idle') {
          clearTimeout(hung);
        } else {
          madeModel ||= message.type === 'finished' && message.status === 'SUCCEEDED';
          onNews(message);
        }
      });
      child.on('error', (error) => log.error({ err: error, runner }, 'runner process error'));
      child.once('exit', async (code, signal) => {
        this.#children.delete(child);
        clearTimeout(hung);
        const ending = onExit(runner).catch((error: unknown) =>
          log.error({ runner, ...whyFailed(error) }, 'cannot end the leases'),
        );
        this.#endings.add(ending);
        await ending;
        this.#endings.delete(ending);
        if (!ready) reject(new RunnerStartError(problem));
        if (this.#draining) return;
        if (code === 0) {
          log.info({ runner }, 'runner made room for a fresh one');
          return this.#restart(0);
        }
        onCrash(hangs ? 'hung' : 'crashed');
        const restartMs = madeModel || Date.now() - bornAt > wellAfterMs ? firstPauseMs : pauseMs;
        log.error({ runner, code, signal, restartMs, ...(ready ? {} : { problem }) }, 'runner crashed');
        this.#restart(restartMs);
      });
    });
  }

  #restart(pauseMs: number): void {
    const timer = setTimeout(() => {
      this.#restarts.delete(timer);
      const nextPauseMs = Math.min(Math.max(2 * pauseMs, firstPauseMs), longestPauseMs);
      // Its end is logged where it is seen, and leads back here.
      this.#spawn(nextPauseMs).catch(() => {});
    }, pauseMs);
    this.#restarts.add(timer);
  }
}

function send(child: ChildProcess, message: ToRunner): void {
  // A child that has just died cannot be told; its exit is handled elsewhere.
  if (child.connected) child.send(message, () => {});
}
