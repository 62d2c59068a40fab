import { defineConfig } from 'tsup';

export default defineConfig({
  // The runner is a process of its own and its engine a thread: they keep their files.
  entry: {
    index: 'src/index.ts',
    'runner/main': 'src/runner/main.ts',
    'runner/engine-thread': 'src/runner/engine-thread.ts',
  },
  format: ['esm'],
  target: 'node20',
  dts: { entry: 'src/index.ts' },
  clean: true,
  sourcemap: true,
});
