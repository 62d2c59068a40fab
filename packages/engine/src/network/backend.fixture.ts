import { type Backend, InferenceSession, type OnnxValue, registerBackend } from './onnxruntime.js';

type Outputs = Readonly<Record<string, OnnxValue>>;

/**
 * Registers an execution provider with onnxruntime that runs on the CPU and whose outputs a test can change.
 *
 * @param intercept called for each run; returns the provider's outputs
 * @param onLoaded called with 1 when a network is loaded, and with -1 when it is released
 */
export function registerProvider(
  name: string,
  intercept: (run: () => Promise<Outputs>) => Promise<Outputs>,
  onLoaded: (change: 1 | -1) => void = () => {},
): void {
  const backend: Backend = {
    init: async () => {},
    async createInferenceSessionHandler(file, options) {
      const session =
        typeof file === 'string'
          ? await InferenceSession.create(file, { ...options, executionProviders: ['cpu'] })
          : await InferenceSession.create(file, { ...options, executionProviders: ['cpu'] });
      onLoaded(1);
      const { inputNames, outputNames, inputMetadata, outputMetadata } = session;
      return {
        inputNames,
        outputNames,
        inputMetadata,
        outputMetadata,
        startProfiling: () => {},
        endProfiling: () => {},
        dispose: () => {
          onLoaded(-1);
          return session.release();
        },
        run: async (feeds, fetches) => await intercept(() => session.run(feeds, Object.keys(fetches))),
      };
    },
  };
  registerBackend(name, backend, -1);
}
