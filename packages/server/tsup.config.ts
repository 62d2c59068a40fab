import { defineConfig } from 'tsup';

export default defineConfig({
  // The runner is a process of its own and keeps its file.
  entry: { index: 'src/index.ts', 'runner/main': 'src/runner/main.ts' },
  format: ['esm'],
  target: 'node20',
  dts: { entry: 'src/index.ts' },
  clean: true,
  sourcemap: true,
});
