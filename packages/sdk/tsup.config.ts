import { defineConfig, type Options } from 'tsup';

const common: Options = { entry: ['src/index.ts'], target: 'es2022', dts: true, sourcemap: true };

export default defineConfig([
  { ...common, format: 'esm' },
  // ky is an ES module only, which Jest and older bundlers cannot require.
  {
    ...common,
    format: 'cjs',
    noExternal: ['ky'],
    banner: {
      js: '/*! Contains ky. MIT License. Copyright (c) Sindre Sorhus <sindresorhus@gmail.com> (https://sindresorhus.com) */',
    },
  },
]);
