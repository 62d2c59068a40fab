import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import type { GenerateOptions } from '../engine.js';
import type { DecodedPhoto } from '../photo/decode.js';
import { type Handlers, type Input, transfer } from '../rpc/channel.js';
import { Child } from '../rpc/child.js';
import type { PipelineObserver, PipelineThread, PoolGenerated, PoolProgress } from './threads.js';

export interface PoolGenerateOptions extends Omit<GenerateOptions, 'onProgress'> {
  /** Called after each stage and step with the share of the work done, 0..1, and with the times at the device so far. */
  readonly onProgress?: (fraction: number, progress: PoolProgress) => void;
}

/** Resolved by package name, which works from the built package and from the sources. */
const threadFile = () => createRequire(import.meta.url).resolve('@gen3d/engine/pipeline-thread');

/** A pipeline thread, as the pool sees it. */
export class Pipeline {
  #onProgress: PoolGenerateOptions['onProgress'];
  readonly #thread = new Child<PipelineThread>('pipeline thread', () => new Worker(threadFile()), {
    progress: ({ fraction, ...progress }) => this.#onProgress?.(fraction, progress),
  } satisfies Handlers<PipelineObserver>);

  /** @throws {BundleError} as `Engine.open` does */
  async open(engine: Input<PipelineThread, 'open'>): Promise<void> {
    await this.#thread.call('open', transfer(engine, [engine.network]));
  }

  /** True after a crash, for example when its heap was full. */
  get ended(): boolean {
    return this.#thread.hasEnded;
  }

  /** Like `EnginePool.generate`, but accepts only one photo at a time. */
  async generate(photo: Uint8Array | DecodedPhoto, options: PoolGenerateOptions): Promise<PoolGenerated> {
    const { onProgress, signal, resolution, maxTriangles, textureSize } = options;
    signal?.throwIfAborted();
    this.#onProgress = onProgress;
    return this.#thread.call('generate', { photo, options: { resolution, maxTriangles, textureSize } }, { signal });
  }

  async close(): Promise<void> {
    await this.#thread.kill();
  }
}
