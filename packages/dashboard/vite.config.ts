import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { defineConfig, type Plugin } from 'vite';

const modelViewer = dirname(createRequire(import.meta.url).resolve('@google/model-viewer/package.json'));

/**
 * model-viewer puts one style element into its shadow root. Its hash goes into the Content-Security-Policy, so that this one
 * is let in and no other: the server reads it from here.
 */
function styleHashes(): Plugin {
  return {
    name: 'style-hashes',
    generateBundle() {
      const template = readFileSync(join(modelViewer, 'lib/template.js'), 'utf8');
      const hashes = [...template.matchAll(/<style>(.*?)<\/style>/gs)].map(
        ([, text = '']) => `sha256-${createHash('sha256').update(text).digest('base64')}`,
      );
      if (hashes.length !== 1) this.error('model-viewer has changed: its one style element was not found');
      this.emitFile({ type: 'asset', fileName: 'style-hashes.json', source: JSON.stringify(hashes) });
    },
  };
}

export default defineConfig({
  base: '/dashboard/',
  plugins: [styleHashes()],
  resolve: {
    alias: {
      'three/examples/jsm/libs/meshopt_decoder.module.js': join(
        import.meta.dirname,
        'src/components/no-meshopt-decoder.ts',
      ),
    },
  },
  build: {
    assetsDir: 'files',
    // A data URI would need a rule of its own in the Content-Security-Policy.
    assetsInlineLimit: 0,
    // The polyfill is an inline script's worth of code for browsers that cannot run the rest.
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1_200,
  },
});
