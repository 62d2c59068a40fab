import { defineConfig } from 'tsup';

export default defineConfig({
  entry: ['src/index.ts', 'src/model-dirs.ts'],
  format: ['esm'],
  target: 'node20',
  dts: true,
  clean: true,
  sourcemap: true,
});
