import { createRequire } from 'node:module';
import { engineErrors } from '@gen3d/engine/errors';
import { Child, type ExitError, forkModule, type Handlers } from '@gen3d/rpc';
import { runnerEnvironment } from '../../base/environment.js';
import { WrongResultError } from '../stage-failures.js';
import {
  checked,
  type EngineSettings,
  Made,
  type MakeOptions,
  type ModelMaker,
  Opened,
  Progress,
  type RunnerFunctions,
  type RunnerObserver,
  type SidePhoto,
} from './runner-protocol.js';

/** The package's name finds the module from the built package and from the sources. */
const runnerFile = createRequire(import.meta.url).resolve('@gen3d/server/runner');
/** How far the clocks of the two processes may disagree. This process measures the whole call. */
const toleratedMs = 1_000;

export interface RunnerChildOptions {
  /** Time limit of an inference. Waiting for the device extends it. */
  limitMs: number;
  /** A process that does not respond to a ping for this long is killed. */
  silentMs: number;
  /** Called when the CPU replaces a device that failed. */
  onFellBack: (message: string) => void;
  /** The module of the process. Default: gen3d's. */
  file?: string;
}

/** A runner process, from its fork to its end. What it returns is checked, and a wrong result ends it. */
export class RunnerChild implements ModelMaker {
  readonly #options: RunnerChildOptions;
  readonly #child: Child<RunnerFunctions>;
  readonly #observers = new Map<number, (progress: Progress) => void>();
  #maxWaitMs = 0;
  #lastId = 0;

  constructor(options: RunnerChildOptions) {
    this.#options = options;
    const observer = {
      progress: (progress) => this.#receive(progress),
      fellBack: (message) => options.onFellBack(String(message).slice(0, 1_000)),
    } satisfies Handlers<RunnerObserver>;
    const { file = runnerFile } = options;
    const start = () => forkModule(file, { env: runnerEnvironment() });
    this.#child = new Child('runner process', start, observer, engineErrors);
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  get ended(): Promise<ExitError> {
    return this.#child.ended;
  }

  kill(): void {
    void this.#child.kill();
  }

  /** @throws {Error} if the process ends, or cannot open the bundles */
  async open(settings: EngineSettings): Promise<Opened> {
    const opened = await this.#child.call('open', settings);
    const { silentMs, limitMs } = this.#options;
    this.#maxWaitMs = settings.pipelines * limitMs;
    const ping = () => void this.#child.call('ping', undefined, { timeoutMs: silentMs }).catch(() => {});
    const timer = setInterval(ping, silentMs / 4).unref();
    void this.ended.then(() => clearInterval(timer));
    return checked(Opened, opened);
  }

  /**
   * Makes a model.
   * @throws {EngineError} if the photo of the front cannot be used
   * @throws {ExitError} if the process ends, or exceeds the time limit, which also ends it
   * @throws {WrongResultError} if it returns something other than a model; it has been killed
   */
  async generate(
    photos: readonly SidePhoto[],
    { onProgress, signal, options: _, ...options }: MakeOptions,
  ): Promise<Made> {
    const { limitMs } = this.#options;
    const id = ++this.#lastId;
    const start = performance.now();
    try {
      const made = await this.#child.withDeadline(limitMs, (extend) => {
        this.#observers.set(id, ({ fraction, running, deviceWaitMs }) => {
          extend(Math.min(deviceWaitMs, this.#maxWaitMs));
          onProgress?.(fraction, running);
        });
        return this.#child.call('generate', { id, photos, options }, { signal });
      });
      return plausible(checked(Made, made), performance.now() - start);
    } catch (error) {
      if (error instanceof WrongResultError) this.kill();
      throw error;
    } finally {
      this.#observers.delete(id);
    }
  }

  /** Ignores the progress of photos that are no longer in progress. Kills the process if it sends anything else. */
  #receive(sent: unknown): void {
    try {
      const progress = checked(Progress, sent);
      this.#observers.get(progress.id)?.(progress);
    } catch {
      this.kill();
    }
  }
}

/** Stage times are charged, so their sum must not exceed the time that passed. */
function plausible(made: Made, elapsedMs: number): Made {
  const sumMs = Object.values(made.stats.stageMs).reduce((sum, ms) => sum + ms, 0);
  if (sumMs > elapsedMs + toleratedMs) throw new WrongResultError(`A runner claims ${sumMs} ms within ${elapsedMs} ms`);
  return made;
}
