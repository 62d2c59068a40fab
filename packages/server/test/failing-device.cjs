// Preloaded into all processes of a server under test. Simulates the execution provider dml on the CPU. In the network
// thread, it fails while the file DEVICE_FAILS exists. With DEVICE_CRASHES, it kills its process when it gets the photo
// of a ball (test/ball-photo.ts), but not when it gets that of a needle.
const { existsSync } = require('node:fs');
const { createRequire } = require('node:module');
const { join } = require('node:path');
const { isMainThread } = require('node:worker_threads');

const requireByEngine = createRequire(require.resolve('@gen3d/engine/device-probe'));
const ort = requireByEngine('onnxruntime-node');

// The exports of the package are getters.
require(join(requireByEngine.resolve('onnxruntime-node'), '../backend.js')).listSupportedBackends = () => [
  { name: 'dml', bundled: true },
];
/** Whether the image of a ball bundle has little green: the background is gray, and the ball is red. */
function isBall({ image }) {
  if (!image) return false;
  const green = image.data.subarray(image.data.length / 3, (2 * image.data.length) / 3);
  return green.reduce((sum, value) => sum + value, 0) / green.length < 0.4;
}

ort.registerBackend(
  'dml',
  {
    init: async () => {},
    async createInferenceSessionHandler(file, options) {
      const session = await ort.InferenceSession.create(file, { ...options, executionProviders: ['cpu'] });
      const { inputNames, outputNames, inputMetadata, outputMetadata } = session;
      return {
        inputNames,
        outputNames,
        inputMetadata,
        outputMetadata,
        startProfiling: () => {},
        endProfiling: () => {},
        dispose: () => session.release(),
        async run(feeds, fetches) {
          // The device is compared with the CPU in a separate process.
          if (!isMainThread && existsSync(process.env.DEVICE_FAILS ?? '')) throw new Error('device lost');
          if (!isMainThread && process.env.DEVICE_CRASHES && isBall(feeds)) process.kill(process.pid, 'SIGKILL');
          return session.run(feeds, Object.keys(fetches));
        },
      };
    },
  },
  -1,
);
