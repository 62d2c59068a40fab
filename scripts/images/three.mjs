// Draws docs/pictures/in-three.jpg: each demo photo's model by our rasteriser and, below it, by three.js in headless
// Chromium (WebGL), from the same sides: whether a real viewer shows the same thing, the same way up.
// Needs `npm run demo` first, and Chromium: its place is taken from CHROMIUM, or the usual ones are tried.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { dirname, extname, join, parse } from 'node:path';
import { chromium } from 'playwright-core';
import { Failed, main } from '../processes.mjs';
import { demoPhotos, requireFrom, root } from '../repository.mjs';
import { contactSheet, views } from './contact-sheet.mjs';

const three = join(dirname(createRequire(import.meta.url).resolve('three')), '..');
const sharp = requireFrom('engine')('sharp');
const sides = ['threeQuarter', 'front', 'side', 'back'];
const size = 180;
const types = { '.html': 'text/html', '.js': 'text/javascript', '.glb': 'model/gltf-binary' };
const places = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/google-chrome', '/usr/bin/chromium-browser'];

await main(async () => {
  const executablePath = places.find((path) => path && existsSync(path));
  if (!executablePath) throw new Failed('No Chromium was found. Install it, or say where it is: CHROMIUM=/path/to/it');
  const models = demoPhotos().map((photo) => ({ photo, glb: join(root, `demo-output/${parse(photo).name}.glb`) }));
  if (!models.every(({ glb }) => existsSync(glb))) throw new Failed('Run `npm run demo` first: it makes the models.');

  const server = createServer(({ url }, response) => {
    const path = new URL(url, 'http://localhost').pathname;
    const file = path.startsWith('/three/')
      ? join(three, path.slice('/three/'.length))
      : join(root, path === '/' ? 'scripts/images/three.html' : path);
    if (!existsSync(file)) return response.writeHead(404).end();
    response.setHeader('content-type', types[extname(file)] ?? 'application/octet-stream');
    response.end(readFileSync(file));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));

  // No GPU is needed: SwiftShader draws on the processor.
  const args = ['--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--ignore-gpu-blocklist', '--no-sandbox'];
  const browser = await chromium.launch({ executablePath, args });
  try {
    const page = await browser.newPage();
    page.on('pageerror', (error) => console.error(`the page: ${error.message}`));
    await page.goto(`http://127.0.0.1:${server.address().port}/`);
    await page.waitForFunction(() => globalThis.ready);

    const rows = [];
    for (const model of models) {
      rows.push(await contactSheet([model], { size, sides, quality: 95 }));
      await page.evaluate((url) => globalThis.load(url), `/demo-output/${parse(model.glb).base}`);
      const pictures = [];
      for (const side of sides) {
        const { yawRadians, pitchRadians } = views[side];
        const uri = await page.evaluate(([...at]) => globalThis.picture(...at), [yawRadians, pitchRadians, size]);
        pictures.push(Buffer.from(uri.split(',')[1], 'base64'));
      }
      const tiles = pictures.map((input, index) => ({ input, left: (index + 1) * size, top: 0 }));
      rows.push(await blank(size).composite(tiles).png().toBuffer());
    }
    const stacked = rows.map((input, row) => ({ input, left: 0, top: row * size }));
    const sheet = await blank(rows.length * size)
      .composite(stacked)
      .jpeg({ quality: 78, mozjpeg: true })
      .toBuffer();
    writeFileSync(join(root, 'docs/pictures/in-three.jpg'), sheet);
  } finally {
    await browser.close();
    server.close().closeAllConnections();
  }
});

function blank(height) {
  return sharp({ create: { width: (1 + sides.length) * size, height, channels: 3, background: '#fff' } });
}
