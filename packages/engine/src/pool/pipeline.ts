import { once } from 'node:events';
import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import type { GenerateOptions } from '../engine.js';
import type { DecodedPhoto } from '../photo/decode.js';
import { fromSentError } from '../rpc/sent-error.js';
import type { FromPipelineThread, PipelineData, PoolGenerated, PoolProgress, ToPipelineThread } from './messages.js';

export interface PoolGenerateOptions extends Omit<GenerateOptions, 'onProgress'> {
  /** Called after each stage and step with the share of the work done, 0..1, and with the times at the device so far. */
  readonly onProgress?: (fraction: number, progress: PoolProgress) => void;
}

/** Resolved by package name, which works from the built package and from the sources. */
const threadFile = () => createRequire(import.meta.url).resolve('@gen3d/engine/pipeline-thread');

/** A pipeline thread, as the pool sees it. */
export class Pipeline {
  readonly #thread: Worker;
  #ended = false;

  private constructor(data: PipelineData) {
    this.#thread = new Worker(threadFile(), { workerData: data, transferList: [data.network] });
    const onEnd = () => {
      this.#ended = true;
    };
    // Listens even while the thread is idle, because an error without a listener would end the process.
    this.#thread.on('error', onEnd).on('exit', onEnd);
  }

  /** @throws {BundleError} as `Engine.open` does */
  static async open(data: PipelineData): Promise<Pipeline> {
    const pipeline = new Pipeline(data);
    await pipeline.#until('opened');
    return pipeline;
  }

  /** True after a crash, for example when its heap was full. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Like `EnginePool.generate`, but accepts only one photo at a time. */
  async generate(photo: Uint8Array | DecodedPhoto, options: PoolGenerateOptions): Promise<PoolGenerated> {
    const { onProgress, signal, resolution, maxTriangles, textureSize } = options;
    signal?.throwIfAborted();
    const abort = () => this.#send({ type: 'abort' });
    signal?.addEventListener('abort', abort);
    this.#send({ type: 'generate', photo, options: { resolution, maxTriangles, textureSize } });
    try {
      return await this.#until('generated', onProgress);
    } finally {
      signal?.removeEventListener('abort', abort);
    }
  }

  async close(): Promise<void> {
    if (this.#ended) return;
    const exited = once(this.#thread, 'exit');
    this.#send({ type: 'close' });
    await exited;
  }

  #send(message: ToPipelineThread): void {
    this.#thread.postMessage(message);
  }

  /** Waits for a message of this type. Rejects if the thread reports a failure or ends. */
  #until<T extends FromPipelineThread['type']>(
    type: T,
    onProgress?: PoolGenerateOptions['onProgress'],
  ): Promise<Extract<FromPipelineThread, { type: T }>> {
    const thread = this.#thread;
    const listening = new AbortController();
    return new Promise<Extract<FromPipelineThread, { type: T }>>((resolve, reject) => {
      const onMessage = (message: FromPipelineThread) => {
        if (message.type === 'progress') onProgress?.(message.fraction, message);
        else if (message.type === 'failed') reject(fromSentError(message.error));
        else if (message.type === type) resolve(message as Extract<FromPipelineThread, { type: T }>);
      };
      const onExit = () => reject(new Error('a pipeline thread ended'));
      thread.on('message', onMessage).on('error', reject).on('exit', onExit);
      listening.signal.addEventListener('abort', () => {
        thread.off('message', onMessage).off('error', reject).off('exit', onExit);
      });
    }).finally(() => listening.abort());
  }
}
