import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { defineConfig, type Plugin } from 'vite';

const modelViewer = dirname(createRequire(import.meta.url).resolve('@google/model-viewer/package.json'));

/** Hashes model-viewer's only style element, which the server's Content-Security-Policy allows by this hash. */
function styleHashes(): Plugin {
  return {
    name: 'style-hashes',
    generateBundle() {
      const template = readFileSync(join(modelViewer, 'lib/template.js'), 'utf8');
      const hashes = [...template.matchAll(/<style>(.*?)<\/style>/gs)].map(
        ([, text = '']) => `sha256-${createHash('sha256').update(text).digest('base64')}`,
      );
      if (hashes.length !== 1) this.error(`expected one style element in model-viewer, found ${hashes.length}`);
      this.emitFile({ type: 'asset', fileName: 'style-hashes.json', source: JSON.stringify(hashes) });
    },
  };
}

/** The license of libheif, which decodes HEIC photos, next to its files. */
function libheifLicense(): Plugin {
  return {
    name: 'libheif-license',
    generateBundle() {
      const source = readFileSync(createRequire(import.meta.url).resolve('libheif-js/LICENSE'));
      this.emitFile({ type: 'asset', fileName: 'files/libheif-LICENSE.txt', source });
    },
  };
}

export default defineConfig({
  base: '/dashboard/',
  plugins: [styleHashes(), libheifLicense()],
  // `npm run dev`: everything but the pages comes from a running server.
  server: {
    host: '127.0.0.1',
    proxy: {
      '^/(?!dashboard/(?!api/))': {
        target: process.env.GEN3D_BASE_URL ?? 'http://127.0.0.1:8787',
        bypass: ({ headers }) => (headers.accept?.includes('text/html') ? '/dashboard/index.html' : undefined),
      },
    },
  },
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
    rollupOptions: { input: ['index.html', 'share.html'] },
    // The Content-Security-Policy does not allow data URIs.
    assetsInlineLimit: 0,
    // Browsers that need the polyfill cannot run the rest.
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1_200,
  },
});
