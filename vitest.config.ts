import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['packages/*/{src,test}/**/*.test.ts', 'scripts/**/*.test.ts'],
    // Real servers, child processes and ONNX sessions share two cores in CI: a file may be slow without being wrong.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
  },
});
