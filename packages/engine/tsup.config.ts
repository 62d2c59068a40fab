import { defineConfig } from 'tsup';

export default defineConfig({
  // The probe runs in a separate process, and a pool in several threads, so each needs its own file.
  entry: {
    index: 'src/index.ts',
    images: 'src/images.ts',
    bundles: 'src/bundles.ts',
    errors: 'src/errors.ts',
    files: 'src/files.ts',
    'device-probe': 'src/device-probe.ts',
    'pool/network-thread': 'src/pool/network-thread.ts',
    'pool/pipeline-thread': 'src/pool/pipeline-thread.ts',
  },
  format: ['esm'],
  target: 'node20',
  dts: {
    entry: {
      index: 'src/index.ts',
      images: 'src/images.ts',
      bundles: 'src/bundles.ts',
      errors: 'src/errors.ts',
      files: 'src/files.ts',
    },
  },
  sourcemap: true,
});
