import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { dirname, extname, join } from 'node:path';
import { launchChromium } from '../chromium.mjs';
import { root } from '../repository.mjs';

const contentTypes = new Map([
  ['.html', 'text/html'],
  ['.js', 'text/javascript'],
  ['.wasm', 'application/wasm'],
  ['.glb', 'model/gltf-binary'],
]);

/**
 * Opens three.html, which has three.js, in headless Chromium (WebGL).
 *
 * @param {import('../processes.mjs').AtEnd} atEnd closes the browser
 * @param {string} [folder] of the models
 */
export async function openThree(atEnd, folder = root) {
  const browser = await launchChromium();
  atEnd(() => browser.close());
  const server = await servePage(folder);
  atEnd(() => server.close().closeAllConnections());
  const page = await browser.newPage();
  page.on('pageerror', (error) => console.error(`Error of the page: ${error.message}`));
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  await page.goto(`http://127.0.0.1:${port}/`);
  await page.waitForFunction('window.ready');
  return {
    /**
     * Replaces the shown model.
     *
     * @param {string} path below the folder
     * @returns {Promise<{ triangles: number, texture: number, size: number[] }>} `texture` is the width of the widest
     */
    load: (path) => page.evaluate(`window.load('/models/${path}')`),
    /**
     * @param {{ yawRadians: number, pitchRadians: number }} view around Y, and above the horizon
     * @param {number} size width and height in pixels
     * @returns a PNG
     */
    render: async ({ yawRadians, pitchRadians }, size) => {
      const uri = String(await page.evaluate(`window.render(${yawRadians}, ${pitchRadians}, ${size})`));
      return Buffer.from(uri.slice(uri.indexOf(',') + 1), 'base64');
    },
  };
}

/**
 * Serves three.html, three.js and the models on loopback.
 *
 * @param {string} folder of the models
 */
async function servePage(folder) {
  const three = join(dirname(createRequire(import.meta.url).resolve('three')), '..');
  const server = createServer(({ url = '/' }, response) => {
    const [, first, ...rest] = new URL(url, 'http://localhost').pathname.split('/');
    const folders = { three, models: folder };
    const file =
      first === 'three' || first === 'models' ? join(folders[first], ...rest) : join(root, 'scripts/images/three.html');
    if (!existsSync(file)) {
      response.writeHead(404).end();
      return;
    }
    response.setHeader('content-type', contentTypes.get(extname(file)) ?? 'application/octet-stream');
    response.end(readFileSync(file));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  return server;
}
