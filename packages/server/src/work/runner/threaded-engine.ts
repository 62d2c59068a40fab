import { once } from 'node:events';
import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import { type ChosenDevice, type DecodedPhoto, EngineError, type EngineOptions, type Generated } from '@gen3d/engine';
import type { FromEngine, MeshOptions, ToEngine } from '../processes/messages.js';

/** Resolved by package name, which works from the built package and from the sources. */
const threadFile = createRequire(import.meta.url).resolve('@gen3d/server/engine-thread');

/**
 * The engine on a separate thread. Its steps block their thread for seconds. On the runner's main thread, leases would
 * expire, and an open transaction would lock other processes out of the database.
 *
 * A crash of the thread ends the process, and the supervisor starts a new one.
 */
export class ThreadedEngine {
  private constructor(
    readonly chosen: ChosenDevice,
    readonly thread: Worker,
  ) {}

  /** @throws what `Engine.open` throws, as an error with the same message */
  static async open({
    onFallback,
    ...options
  }: Omit<EngineOptions, 'onWarning'> & {
    meshOptions?: MeshOptions;
    /** Called once, when the device fails and the CPU replaces it. */
    onFallback?: (message: string) => void;
  }): Promise<ThreadedEngine> {
    const thread = new Worker(threadFile, { workerData: options });
    const chosen = await new Promise<ChosenDevice>((resolve, reject) => {
      // Emitted when the thread terminates because of an error.
      thread.once('error', reject);
      thread.on('message', (message: FromEngine) => {
        if (message.type === 'fellBack') onFallback?.(message.message);
        if (message.type === 'opened') resolve(message.chosen);
      });
    });
    thread.on('error', (error) => {
      throw error;
    });
    return new ThreadedEngine(chosen, thread);
  }

  /**
   * Like `Engine.generate`, one model at a time.
   * @throws {EngineError} when no model can be generated from this photo
   */
  generate(
    photo: DecodedPhoto,
    { onProgress, signal }: { onProgress: (fraction: number) => void; signal: AbortSignal },
  ): Promise<Generated> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const abort = () => this.#send({ type: 'abort' });
      const onMessage = (message: FromEngine) => {
        if (message.type === 'progress') return onProgress(message.fraction);
        if (message.type === 'fellBack') return;
        this.thread.off('message', onMessage);
        signal.removeEventListener('abort', abort);
        if (message.type === 'generated') resolve(message);
        else if (message.type === 'refused') {
          reject(new EngineError(message.code, message.message, { cause: message.detail }));
        } else reject(new Error(`the engine failed: ${message.type === 'broken' ? message.problem : message.type}`));
      };
      this.thread.on('message', onMessage);
      signal.addEventListener('abort', abort);
      this.#send({ type: 'generate', photo });
    });
  }

  /** Frees the networks and ends the thread. Must not be called during `generate`. */
  async close(): Promise<void> {
    const exited = once(this.thread, 'exit');
    this.#send({ type: 'close' });
    await exited;
  }

  #send(message: ToEngine): void {
    this.thread.postMessage(message);
  }
}
