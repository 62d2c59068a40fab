import { defineConfig } from 'tsup';

export default defineConfig({
  entry: ['src/index.ts', 'src/rules.ts', 'src/dashboard.ts', 'src/openapi.ts'],
  format: ['esm', 'cjs'],
  target: 'es2022',
  dts: true,
  clean: true,
  sourcemap: true,
});
