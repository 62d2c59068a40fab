import { createRequire } from 'node:module';
import { MessageChannel, Worker } from 'node:worker_threads';
import { Child, type Handlers, type Input, transfer } from '@gen3d/rpc';
import { engineErrors } from '../base/errors.js';
import type { ChosenDevice } from '../device/choose-device.js';
import type { EngineOptions } from '../device/engine-device.js';
import type { GenerateOptions } from '../engine.js';
import type { Photos } from '../photo/side-photo.js';
import type {
  NetworkObserver,
  NetworkThread,
  PipelineObserver,
  PipelineThread,
  PoolGenerated,
  PoolProgress,
  ThreadOptions,
} from './threads.js';

export interface PoolOptions extends EngineOptions {
  /** How many photos the pool works on at a time. Default 1. */
  readonly pipelines?: number;
}

/** Resolved by package name, which works from the built package and from the sources. */
const networkThreadFile = () => createRequire(import.meta.url).resolve('@gen3d/engine/network-thread');

/** A further pipeline thread takes some 50 MB, and half a second to start. */
const idleMs = 60_000;

/**
 * Engines on several threads, which share one device.
 *
 * Each photo has a pipeline thread to itself, which blocks for seconds. The networks of all photos run in the network
 * thread, one after the other, so that they are loaded once, and one photo can use the device while others are meshed
 * and textured.
 *
 * @example
 * const options = { bundle: 'gen3d-base', matte: 'isnet', device: 'auto', modelDirs: ['models'] } as const;
 * const pool = await EnginePool.open({ ...options, pipelines: 4 });
 * const models = await Promise.all(photos.map((photo) => pool.generate(photo)));
 * await pool.close();
 */
export class EnginePool {
  /** How the device was chosen. */
  readonly chosen: ChosenDevice;
  readonly #options: ThreadOptions;
  readonly #maxPipelines: number;
  readonly #network: Child<NetworkThread>;
  #closing = false;
  /** Number of pipelines, including those that are being opened. */
  #count = 0;
  /** The most recently used one is last. Each is closed by its timer, unless it is the only pipeline. */
  readonly #free: { pipeline: Pipeline; timer: NodeJS.Timeout }[] = [];
  readonly #waiting: ((pipeline: Pipeline | undefined) => void)[] = [];

  private constructor(
    network: Child<NetworkThread>,
    chosen: ChosenDevice,
    options: ThreadOptions,
    maxPipelines: number,
  ) {
    this.#network = network;
    this.chosen = chosen;
    this.#options = options;
    this.#maxPipelines = maxPipelines;
  }

  /**
   * Starts the network thread and one pipeline thread. The others are started when they are needed, and end when they
   * have been idle for a minute.
   *
   * If the network thread crashes later, an uncaught error ends the process, because no photo can be finished without
   * it.
   * @throws {BundleError} as `Engine.open` does
   */
  static async open({ pipelines = 1, onWarning = console.warn, ...options }: PoolOptions): Promise<EnginePool> {
    const observer = { fellBack: (message) => onWarning(message) } satisfies Handlers<NetworkObserver>;
    const start = () => new Worker(networkThreadFile());
    const network = new Child<NetworkThread>('network thread', start, observer, engineErrors);
    const chosen = await network.call('open', options).catch(async (error: unknown) => {
      await network.kill();
      throw error;
    });
    const pool = new EnginePool(network, chosen, options, pipelines);
    void network.ended.then((exit) => {
      if (!pool.#closing) throw exit;
    });
    try {
      pool.#release(await pool.#acquire());
    } catch (error) {
      await pool.close();
      throw error;
    }
    return pool;
  }

  /**
   * Makes a model as `Engine.generate` does, but on one of the pool's threads. Waits while all of them are busy.
   * `options.signal` also ends that wait.
   *
   * @throws {EngineError} if the photo of the front cannot be used
   * @throws {TypeError} if not exactly one photo is of the front, or two are of the same side
   * @throws the signal's reason if it aborts
   * @throws the error of a thread that crashed; the pool replaces it
   */
  async generate(photos: Photos, options: PoolGenerateOptions = {}): Promise<PoolGenerated> {
    options.signal?.throwIfAborted();
    const pipeline = await this.#acquire(options.signal);
    try {
      return await pipeline.generate(photos, options);
    } finally {
      this.#release(pipeline);
    }
  }

  /** Frees the networks and ends all threads. Must not be called during `generate`. */
  async close(): Promise<void> {
    const idle = this.#free.splice(0);
    for (const { timer } of idle) clearTimeout(timer);
    await Promise.all(idle.map(({ pipeline }) => pipeline.close()));
    this.#closing = true;
    await this.#network.call('close', undefined);
    await this.#network.kill();
  }

  async #acquire(signal?: AbortSignal): Promise<Pipeline> {
    for (;;) {
      const free = this.#free.pop();
      if (free) {
        clearTimeout(free.timer);
        if (!free.pipeline.ended) return free.pipeline;
        this.#count--;
      } else if (this.#count < this.#maxPipelines) {
        return this.#open();
      } else {
        const released = await this.#wait(signal);
        if (released) return released;
      }
    }
  }

  /**
   * Resolves with the next pipeline that is released, or with undefined if one ended, so that another can be opened.
   */
  async #wait(signal?: AbortSignal): Promise<Pipeline | undefined> {
    signal?.throwIfAborted();
    return new Promise((resolve, reject) => {
      const take = (pipeline: Pipeline | undefined) => {
        signal?.removeEventListener('abort', leave);
        resolve(pipeline);
      };
      const leave = () => {
        // A pipeline that is given to a photo that no longer waits would be lost.
        this.#waiting.splice(this.#waiting.indexOf(take), 1);
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', leave, { once: true });
      this.#waiting.push(take);
    });
  }

  async #open(): Promise<Pipeline> {
    this.#count++;
    const pipeline = new Pipeline();
    try {
      const { port1, port2 } = new MessageChannel();
      this.#network.notify('connect', transfer(port1, [port1]));
      await pipeline.open({ options: this.#options, chosen: this.chosen, network: port2 });
      return pipeline;
    } catch (error) {
      void pipeline.close();
      this.#count--;
      this.#waiting.shift()?.(undefined);
      throw error;
    }
  }

  /** Gives the pipeline to the next photo, if one is waiting. */
  #release(pipeline: Pipeline): void {
    if (pipeline.ended) this.#count--;
    const next = this.#waiting.shift();
    if (next) next(pipeline.ended ? undefined : pipeline);
    else if (!pipeline.ended) {
      this.#free.push({ pipeline, timer: setTimeout(() => this.#closeIdle(pipeline), idleMs).unref() });
    }
  }

  #closeIdle(pipeline: Pipeline): void {
    if (this.#count === 1) return;
    this.#count--;
    this.#free.splice(
      this.#free.findIndex((free) => free.pipeline === pipeline),
      1,
    );
    void pipeline.close();
  }
}

export interface PoolGenerateOptions extends Omit<GenerateOptions, 'onProgress'> {
  /** Called after each stage and step with the share of the work done, 0..1, and with the times at the device so far. */
  readonly onProgress?: (fraction: number, progress: PoolProgress) => void;
}

/** Resolved by package name, which works from the built package and from the sources. */
const threadFile = () => createRequire(import.meta.url).resolve('@gen3d/engine/pipeline-thread');

/** A pipeline thread, as the pool sees it. */
class Pipeline {
  #onProgress: PoolGenerateOptions['onProgress'];
  readonly #thread = new Child<PipelineThread>(
    'pipeline thread',
    () => new Worker(threadFile()),
    {
      progress: ({ fraction, ...progress }) => this.#onProgress?.(fraction, progress),
    } satisfies Handlers<PipelineObserver>,
    engineErrors,
  );

  /** @throws {BundleError} as `Engine.open` does */
  async open(engine: Input<PipelineThread, 'open'>): Promise<void> {
    await this.#thread.call('open', transfer(engine, [engine.network]));
  }

  /** True after a crash, for example when its heap was full. */
  get ended(): boolean {
    return this.#thread.hasEnded;
  }

  /** Makes a model as `EnginePool.generate` does, but accepts only one photo at a time. */
  async generate(photos: Photos, options: PoolGenerateOptions): Promise<PoolGenerated> {
    const { onProgress, signal, resolution, maxTriangles, textureSize, sampler } = options;
    signal?.throwIfAborted();
    this.#onProgress = onProgress;
    const passed = { resolution, maxTriangles, textureSize, sampler };
    return this.#thread.call('generate', { photos, options: passed }, { signal });
  }

  async close(): Promise<void> {
    await this.#thread.kill();
  }
}
