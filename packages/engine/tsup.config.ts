import { defineConfig } from 'tsup';

export default defineConfig({
  // The probe is a process of its own: it keeps its file.
  entry: { index: 'src/index.ts', images: 'src/images.ts', 'device-probe': 'src/device/probe-process.ts' },
  format: ['esm'],
  target: 'node20',
  dts: { entry: ['src/index.ts', 'src/images.ts'] },
  clean: true,
  sourcemap: true,
});
