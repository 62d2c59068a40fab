import { type Backend, InferenceSession, type OnnxValue, registerBackend } from './onnxruntime.js';

type Answer = Readonly<Record<string, OnnxValue>>;

/**
 * Registers an execution provider with onnxruntime, as its own packages do, that computes on the CPU, and lets a test
 * come between.
 *
 * @param answer gets each run; what it gives is the provider's answer
 */
export function registerProvider(name: string, answer: (run: () => Promise<Answer>) => Promise<Answer>): void {
  const backend: Backend = {
    init: async () => {},
    async createInferenceSessionHandler(file, options) {
      const session =
        typeof file === 'string'
          ? await InferenceSession.create(file, { ...options, executionProviders: ['cpu'] })
          : await InferenceSession.create(file, { ...options, executionProviders: ['cpu'] });
      const { inputNames, outputNames, inputMetadata, outputMetadata } = session;
      return {
        inputNames,
        outputNames,
        inputMetadata,
        outputMetadata,
        startProfiling: () => {},
        endProfiling: () => {},
        dispose: () => session.release(),
        run: async (feeds, fetches) => await answer(() => session.run(feeds, Object.keys(fetches))),
      };
    },
  };
  registerBackend(name, backend, -1);
}
