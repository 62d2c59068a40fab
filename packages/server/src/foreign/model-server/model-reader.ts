import { createRequire } from 'node:module';
import { EngineError, engineErrors } from '@gen3d/engine/errors';
import { Child, ExitError, forkModule } from '@gen3d/rpc';
import { limited } from '../../base/child-process.js';
import { bareEnvironment } from '../../base/environment.js';

/** The files of a folder, in which a model server's file becomes a model. */
export const modelFiles = {
  /** The server's response. */
  received: 'received',
  glb: 'model.glb',
  thumbnail: 'thumbnail.jpg',
  transparentThumbnail: 'thumbnail.webp',
} as const;

export interface ReadRequest {
  /** Has the file `received`; the process adds the others. */
  folder: string;
  /** A model with more is simplified. */
  maxTriangles: number;
  /** Is added to the model's credits. */
  credit: { name: string; license: string; source: string };
}

/** The server calls this function of the process, once. */
export interface ModelReaderFunctions {
  /** @throws {EngineError} `inference_failed` if there is no valid model in the file */
  read(request: ReadRequest): void;
}

/** The package's name finds the module from the built package and from the sources. */
const readerFile = () => createRequire(import.meta.url).resolve('@gen3d/server/model-reader');
/** The heap has room for the JSON of a model, whose triangles and textures are outside of it. */
const maxHeapMebibytes = 1_024;
/** A file may declare more than it contains. One of 5.5 million triangles takes 1 GB of memory and 15 s of CPU time. */
const limits = { cpuSeconds: 300, memoryBytes: 4 * 1024 ** 3 };

/**
 * Reads files of a model server in child processes, one after the other, because a large one takes 1 GB. The process
 * that renews leases never waits for them, and a file that ends its process costs only its own job.
 */
export class ModelReader {
  #previous: Promise<unknown> = Promise.resolve();

  /** @throws {EngineError} `inference_failed` if there is no valid model in the file */
  read(request: ReadRequest, signal: AbortSignal): Promise<void> {
    const reading = this.#previous.then(() => this.#read(request, signal));
    this.#previous = reading.catch(() => {});
    return reading;
  }

  async #read(request: ReadRequest, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const node = [process.execPath, `--max-old-space-size=${maxHeapMebibytes}`];
    const [execPath, ...execArgv] = limited(node, limits);
    const start = () => forkModule(readerFile(), { env: bareEnvironment(), execPath, execArgv });
    const child = new Child<ModelReaderFunctions>('model reader', start, {}, engineErrors);
    try {
      await child.callOnce('read', request, signal);
    } catch (error) {
      if (!(error instanceof ExitError)) throw error;
      const message =
        'The file of the model server ended the process that read it. Ask the operator to check the server.';
      throw new EngineError('inference_failed', message, { cause: error });
    }
  }
}
