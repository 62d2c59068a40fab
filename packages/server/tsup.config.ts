import { defineConfig } from 'tsup';

export default defineConfig({
  // Child processes need separate files.
  entry: {
    index: 'src/index.ts',
    'runner/runner-process': 'src/work/runner/runner-process.ts',
    'model-server/model-reader-process': 'src/foreign/model-server/model-reader-process.ts',
    'preparation/decoder-process': 'src/work/preparation/decoder-process.ts',
  },
  format: ['esm'],
  target: 'node20',
  dts: { entry: 'src/index.ts' },
  sourcemap: true,
});
