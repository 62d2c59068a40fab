// Converts the models of `npm run demo`, and writes pictures of the results beside the originals:
// docs/pictures/budgets.jpg (three.js in headless Chromium) and docs/pictures/flat-base.jpg. Prints the table of
// docs/web-and-engines.md.
//
// Needs the output of `npm run demo` and Chromium, at its usual path or at that in CHROMIUM.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, parse } from 'node:path';
import { convertModel } from '../../packages/convert/dist/index.js';
import { nodeTools } from '../../packages/convert/dist/node.js';
import { renderView } from '../../packages/engine/dist/index.js';
import { main } from '../processes.mjs';
import { requireFrom, root } from '../repository.mjs';
import { demoModels, tile, views } from './contact-sheet.mjs';
import { openThree } from './three-page.mjs';

/** @type {typeof import('sharp').default} */
const sharp = requireFrom('engine')('sharp');

const forWeb = /** @type {const} */ ({ compress: 'meshopt', textureFormat: 'webp' });
/** The first is the original. */
const budgets = /** @type {const} */ ([
  {},
  { triangles: 5_000, texture: 512, ...forWeb },
  { triangles: 2_000, texture: 256, ...forWeb },
  { triangles: 1_000, texture: 128, ...forWeb },
]);
const size = 150;
const pictures = join(root, 'docs/pictures');

/** @type {(renders: readonly Buffer[], columns: number) => Promise<Buffer>} */
const jpegOf = (renders, columns) => tile(renders, columns, size).jpeg({ quality: 80, mozjpeg: true }).toBuffer();

await main(async (atEnd) => {
  const models = demoModels().map(({ glb }) => ({ name: parse(glb).name, glb: new Uint8Array(readFileSync(glb)) }));
  const three = await openThree(atEnd);
  const draft = join(root, 'demo-output/draft.glb');
  atEnd(() => rmSync(draft, { force: true }));
  const renders = [];
  const cells = models.map(({ name }) => [name]);
  for (const budget of budgets) {
    for (const [index, { name, glb }] of models.entries()) {
      const bytes = (await convertModel(glb, 'glb', { ...nodeTools, name, ...budget })).files[0]?.bytes ?? glb;
      writeFileSync(draft, bytes);
      const { triangles } = await three.load('demo-output/draft.glb');
      renders.push(await three.render(views.threeQuarter, size));
      cells[index]?.push(`${triangles.toLocaleString('en')}, ${Math.round(bytes.length / 1000)} kB`);
    }
  }
  writeFileSync(join(pictures, 'budgets.jpg'), await jpegOf(renders, models.length));
  for (const row of cells) console.log(`| ${row.join(' | ')} |`);

  const feet = [];
  for (const { name, glb } of models.filter(({ name }) => /running-shoe|table-lamp/.test(name))) {
    for (const base of /** @type {const} */ ([{}, { base: 'flat' }])) {
      const { files } = await convertModel(glb, 'stl', { ...nodeTools, name, ...base });
      feet.push(await turnedOver(files[0]?.bytes ?? glb));
    }
  }
  writeFileSync(join(pictures, 'flat-base.jpg'), await jpegOf(feet, 4));
});

/**
 * Renders a binary STL whose Z axis points up, turned over: light comes from above.
 *
 * @param {Uint8Array} stl
 */
function turnedOver(stl) {
  const view = new DataView(stl.buffer, stl.byteOffset);
  const count = view.getUint32(80, true);
  const positions = new Float32Array(9 * count);
  const normals = new Float32Array(9 * count);
  for (let corner = 0; corner < 3 * count; corner++) {
    const triangle = 84 + 50 * Math.floor(corner / 3);
    for (const [vectors, at] of /** @type {const} */ ([
      [normals, triangle],
      [positions, triangle + 12 * (1 + (corner % 3))],
    ])) {
      const [x, y, z] = [0, 4, 8].map((offset) => view.getFloat32(at + offset, true));
      vectors.set([-(x ?? 0), -(z ?? 0), -(y ?? 0)], 3 * corner);
    }
  }
  const indices = Uint32Array.from({ length: 3 * count }, (_, corner) => corner);
  const gray = { width: 1, height: 1, data: Uint8Array.of(150, 150, 150, 255) };
  const mesh = { positions, normals, uvs: new Float32Array(6 * count), indices };
  const side = { yawRadians: 0.56, pitchRadians: 0.6 };
  const { data } = renderView(mesh, gray, { width: size, height: size, supersample: 2, ...side });
  return sharp(data, { raw: { width: size, height: size, channels: 4 } })
    .png()
    .toBuffer();
}
