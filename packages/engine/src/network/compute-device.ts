/**
 * Where an engine's graphs run: on one execution provider until it fails, on the CPU from then on.
 *
 * All sessions of an engine share one, so that a driver that has crashed under the first network is not asked again by
 * the second, and there is one warning.
 */
export class ComputeDevice {
  #provider: string;
  readonly #onWarning: ((message: string) => void) | undefined;

  /** @param onWarning gets the one warning; without it a failure is thrown, and nothing goes to the CPU */
  constructor(provider = 'cpu', onWarning?: (message: string) => void) {
    this.#provider = provider;
    this.#onWarning = onWarning;
  }

  /** A name onnxruntime knows. */
  get provider(): string {
    return this.#provider;
  }

  /** Whether the CPU would take over if the device failed now. */
  get fallsBack(): boolean {
    return this.#provider !== 'cpu' && this.#onWarning !== undefined;
  }

  /**
   * Does some work on the device, and if it fails there, on the CPU. That it then succeeds is what shows that the device
   * was at fault, and not the graph or the photo: only then is the device given up.
   *
   * @throws what `work` throws on the CPU
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
        // An EngineError has the runtime's message in its cause.
        const { message, cause } = error instanceof Error ? error : new Error(String(error));
        const reason = cause instanceof Error ? cause.message : message;
        this.#onWarning?.(
          `The device ${provider} failed, and the networks run on the CPU from now on, which is slower. ` +
            `Restart to try ${provider} again; \`gen3d doctor\` checks it. The failure: ${reason}`,
        );
      }
      return result;
    }
  }
}
