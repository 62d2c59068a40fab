import { defineConfig } from 'tsup';

export default defineConfig({
  // Processes and threads of their own keep their files.
  entry: {
    index: 'src/index.ts',
    'runner/main': 'src/runner/main.ts',
    'runner/engine-thread': 'src/runner/engine-thread.ts',
    'preparation/main': 'src/preparation/main.ts',
    'preparation/decoder-process': 'src/preparation/decoder-process.ts',
  },
  format: ['esm'],
  target: 'node20',
  dts: { entry: 'src/index.ts' },
  clean: true,
  sourcemap: true,
});
