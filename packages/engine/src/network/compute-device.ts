import { errorMessage } from '../base/errors.js';

/**
 * Runs an engine's networks on one execution provider until that fails, and on the CPU from then on.
 *
 * All sessions of an engine share one, so that after a failure no other network tries the device, and there is one
 * warning.
 */
export class ComputeDevice {
  #provider: string;
  readonly #onWarning: ((message: string) => void) | undefined;

  /** @param onWarning called with one warning; without it, a failure is thrown and the CPU does not take over */
  constructor(provider = 'cpu', onWarning?: (message: string) => void) {
    this.#provider = provider;
    this.#onWarning = onWarning;
  }

  /** The execution provider's name in onnxruntime. */
  get provider(): string {
    return this.#provider;
  }

  /** Whether the CPU would take over if the device failed now. */
  get fallsBack(): boolean {
    return this.#provider !== 'cpu' && this.#onWarning !== undefined;
  }

  /**
   * Does some work on the device, and if it fails, on the CPU. If the CPU succeeds, the device is at fault and not the
   * network or the photo, and is not used again.
   *
   * @throws the error of `work` on the CPU
   */
  async attempt<T>(work: (provider: string) => Promise<T>): Promise<T> {
    const provider = this.#provider;
    if (!this.fallsBack) return work(provider);
    try {
      return await work(provider);
    } catch (error) {
      const result = await work('cpu');
      if (this.#provider !== 'cpu') {
        this.#provider = 'cpu';
        // The cause of an EngineError has the runtime's message.
        const reason = errorMessage((error as Error).cause ?? error);
        this.#onWarning?.(
          `The device ${provider} failed, and the networks run on the CPU from now on, which is slower. ` +
            `Restart to try ${provider} again; \`gen3d doctor\` checks it. The failure: ${reason}`,
        );
      }
      return result;
    }
  }
}
