import { defineConfig } from 'tsup';

const common = { entry: ['src/index.ts'], target: 'es2022', dts: true, sourcemap: true } as const;

export default defineConfig([
  { ...common, format: 'esm' },
  // ky is ESM only, and `require` of an ES module warns on some of the Node versions we support.
  { ...common, format: 'cjs', noExternal: ['ky'] },
]);
