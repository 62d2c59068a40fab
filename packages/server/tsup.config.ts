import { defineConfig } from 'tsup';

export default defineConfig({
  // Child processes need separate files.
  entry: {
    index: 'src/index.ts',
    'runner/main': 'src/work/runner/main.ts',
    'bundles/pull': 'src/work/bundles/pull-process.ts',
    'preparation/main': 'src/work/preparation/main.ts',
    'preparation/decoder-process': 'src/work/preparation/decoder-process.ts',
  },
  format: ['esm'],
  target: 'node20',
  dts: { entry: 'src/index.ts' },
  clean: true,
  sourcemap: true,
});
