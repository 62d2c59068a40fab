import { once } from 'node:events';
import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import { type ChosenDevice, type DecodedPhoto, EngineError, type EngineOptions, type Generated } from '@gen3d/engine';
import type { Detail, FromEngine, ToEngine } from '../processes/messages.js';

/** By package name, so that it is found from the built package and from the sources alike. */
const threadFile = createRequire(import.meta.url).resolve('@gen3d/server/engine-thread');

/**
 * The engine on a thread of its own. Its steps hold up the thread they run on for seconds; on the runner's, leases would
 * run out and a transaction that has begun would keep everybody else out of the database.
 *
 * A crash of the thread ends the process: whoever started it starts another.
 */
export class ThreadedEngine {
  private constructor(
    readonly chosen: ChosenDevice,
    readonly thread: Worker,
  ) {}

  /** @throws whatever `Engine.open` throws, as an error with its message */
  static async open({
    onFallback,
    ...options
  }: Omit<EngineOptions, 'onWarning'> & {
    detail?: Detail;
    /** Called once, when the device fails and the CPU takes over. */
    onFallback?: (message: string) => void;
  }): Promise<ThreadedEngine> {
    const thread = new Worker(threadFile, { workerData: options });
    const chosen = await new Promise<ChosenDevice>((resolve, reject) => {
      // What the thread dies of.
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
   * As `Engine.generate`; one at a time.
   * @throws {EngineError} for what is wrong with this photo
   */
  generate(
    photo: DecodedPhoto,
    { onProgress, signal }: { onProgress: (fraction: number) => void; signal: AbortSignal },
  ): Promise<Generated> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const abort = () => this.#tell({ type: 'abort' });
      const onMessage = (message: FromEngine) => {
        if (message.type === 'progress') return onProgress(message.fraction);
        if (message.type === 'fellBack') return;
        this.thread.off('message', onMessage);
        signal.removeEventListener('abort', abort);
        if (message.type === 'generated') resolve(message);
        else if (message.type === 'refused') {
          reject(new EngineError(message.code, message.message, { cause: message.detail }));
        } else reject(new Error(`the engine broke off: ${message.type === 'broken' ? message.problem : message.type}`));
      };
      this.thread.on('message', onMessage);
      signal.addEventListener('abort', abort);
      this.#tell({ type: 'generate', photo });
    });
  }

  /** Frees the networks and ends the thread. Not while it generates. */
  async close(): Promise<void> {
    const gone = once(this.thread, 'exit');
    this.#tell({ type: 'close' });
    await gone;
  }

  #tell(message: ToEngine): void {
    this.thread.postMessage(message);
  }
}
