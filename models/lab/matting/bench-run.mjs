// Mattes photos at one size of the network's input, for matting.mjs.
//
//   node models/lab/matting/bench-run.mjs '{ "size": "1024" or "512+576", "folder", "names", "code", "keep" }'
//
// `folder` has a JPEG and its true matte, a PNG, for each name; `code` has the engine's matting. Prints
// { results: [{ iou, edgeError, seconds, cpuSeconds }], peak } as JSON.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { decode, findBundle } from '../../../packages/engine/dist/index.js';
import { requireFrom, root } from '../../../scripts/repository.mjs';
import { compareMattes } from './compare-mattes.mjs';

/** @type {typeof import('sharp').default} */
const sharp = requireFrom('engine')('sharp');

const { size, folder, names, code, keep } = JSON.parse(process.argv[2]);
const { matte, openMattingNetwork } = await import(pathToFileURL(join(code, 'matte.js')).href);
const [first, closeUp] = size.split('+').map(Number);
const { directory, manifest } = await findBundle('isnet', [join(root, 'models')]);
const { quick, ...input } = /** @type {import('../../../packages/engine/dist/index.js').MatteManifest} */ (manifest)
  .input;
const sizes = closeUp ? { quick: { locate: first, closeUp } } : { size: first };
const network = await openMattingNetwork({ directory, manifest: { ...manifest, input: { ...input, ...sizes } } });

const results = [];
for (const name of names) {
  const photo = await decode(readFileSync(join(folder, `${name}.jpg`)));
  const { data } = await sharp(join(folder, `${name}.png`))
    .extractChannel(0)
    .raw()
    .toBuffer({ resolveWithObject: true });
  const { width, height } = photo.image;
  const [start, cpuStart] = [performance.now(), process.cpuUsage()];
  // A photo without a visible object is a failed one, not an error of the run.
  const found = await matte(photo, network.predict).then(
    ({ matte }) => matte,
    () => ({ width, height, data: new Uint8Array(data.length) }),
  );
  const { user, system } = process.cpuUsage(cpuStart);
  const seconds = (performance.now() - start) / 1000;
  results.push({ ...compareMattes(found, { width, height, data }), seconds, cpuSeconds: (user + system) / 1e6 });
  if (keep) {
    const image = sharp(found.data, { raw: { width, height, channels: 1 } });
    await image.toFile(join(folder, `${name}-${size}.png`));
  }
}
await network.release();
console.log(JSON.stringify({ results, peak: Math.round(process.resourceUsage().maxRSS / 1024) }));
