// Renders docs/pictures/in-three.jpg: each demo photo's model in our renderer and, below it, in three.js in headless
// Chromium (WebGL), from the same sides. Shows whether another viewer gives the same result, the same way up.
//
// Needs the output of `npm run demo` and Chromium, at its usual path or at that in CHROMIUM.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { basename, dirname, extname, join } from 'node:path';
import { launchChromium } from '../chromium.mjs';
import { main } from '../processes.mjs';
import { requireFrom, root } from '../repository.mjs';
import { contactSheet, tile, views } from './contact-sheet.mjs';
import { demoModels } from './demo-models.mjs';

/** @type {typeof import('sharp').default} */
const sharp = requireFrom('engine')('sharp');

/** @typedef {import('./contact-sheet.mjs').Side} Side */
/** @type {readonly Side[]} */
const sides = ['threeQuarter', 'front', 'side', 'back'];
const size = 180;
const contentTypes = new Map([
  ['.html', 'text/html'],
  ['.js', 'text/javascript'],
  ['.glb', 'model/gltf-binary'],
]);

await main(async () => {
  const models = demoModels();
  const browser = await launchChromium();
  const server = await servePage();
  try {
    const page = await browser.newPage();
    page.on('pageerror', (error) => console.error(`Error of the page: ${error.message}`));
    const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
    await page.goto(`http://127.0.0.1:${port}/`);
    await page.waitForFunction('window.ready');

    const rows = [];
    for (const model of models) {
      rows.push(await contactSheet([model], { size, sides, quality: 95 }));
      await page.evaluate(`window.load('/demo-output/${basename(model.glb)}')`);
      // The photo's column stays empty.
      const renders = [await blankTile()];
      for (const side of sides) {
        const { yawRadians, pitchRadians } = views[side];
        const uri = String(await page.evaluate(`window.render(${yawRadians}, ${pitchRadians}, ${size})`));
        renders.push(Buffer.from(uri.slice(uri.indexOf(',') + 1), 'base64'));
      }
      rows.push(await tile(renders, renders.length, size).png().toBuffer());
    }
    const sheet = sharp({
      create: { width: (1 + sides.length) * size, height: rows.length * size, channels: 3, background: '#fff' },
    }).composite(rows.map((input, index) => ({ input, left: 0, top: index * size })));
    writeFileSync(
      join(root, 'docs/pictures/in-three.jpg'),
      await sheet.jpeg({ quality: 78, mozjpeg: true }).toBuffer(),
    );
  } finally {
    await browser.close();
    server.close().closeAllConnections();
  }
});

function blankTile() {
  return sharp({ create: { width: size, height: size, channels: 3, background: '#fff' } })
    .png()
    .toBuffer();
}

/** Serves three.html, three.js and the files of the repository on loopback. */
async function servePage() {
  const three = join(dirname(createRequire(import.meta.url).resolve('three')), '..');
  const server = createServer(({ url = '/' }, response) => {
    const path = new URL(url, 'http://localhost').pathname;
    const file = path.startsWith('/three/')
      ? join(three, path.slice('/three/'.length))
      : join(root, path === '/' ? 'scripts/images/three.html' : path);
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
