import { defineConfig, type Options } from 'tsup';

const common: Options = { entry: ['src/index.ts'], target: 'es2022', dts: true, sourcemap: true };

export default defineConfig([
  { ...common, format: 'esm' },
  // ky is ESM only, and `require` of an ES module warns on some of the Node versions we support.
  { ...common, format: 'cjs', noExternal: ['ky'] },
]);
