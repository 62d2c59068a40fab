// The engine's half of prove.py: runs a bundle step by step and writes the result of each step.
//
//   node models/lab/exporters/triposr/run-bundle.mjs BUNDLE PHOTO POINTS OUT [RESOLUTION]
//
// POINTS contains camera-space positions, float32 [3·N]. Writes to OUT the input, the scene codes, densities and colors
// at the points and, with a resolution, the surface. Prints the seconds of each step and the peak memory in MiB. Loads
// the engine's sources, because its package exports no single steps.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createViteServer } from 'vitest/node';

const [directory, photo, pointsFile, out, resolution] = process.argv.slice(2);
const root = join(import.meta.dirname, '../../../../packages/engine/src');
const vite = await createViteServer({
  root,
  configFile: false,
  logLevel: 'error',
  server: { middlewareMode: true, ws: false },
});
/** @param {string} path */
const load = (path) => vite.ssrLoadModule(`/${path}`);

/** @type {(name: string, data: Float32Array | Uint32Array) => Promise<void>} */
const write = (name, data) => writeFile(join(out, name), new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
/**
 * @template T
 * @param {string} name
 * @param {() => T | Promise<T>} work
 */
async function timed(name, work) {
  const start = performance.now();
  const result = await work();
  console.log(`${name} ${((performance.now() - start) / 1000).toFixed(2)}`);
  return result;
}

const { loadBundle, findBundle, bundleOfKind } = await load('bundle/load-bundle.ts');
const { openEncoder, openDecoder } = await load('network/session.ts');
const { decode } = await load('photo/decode.ts');
const { matte, openMattingNetwork } = await load('photo/matte.ts');
const { frame, toInput } = await load('photo/frame.ts');
const { boxedField } = await load('field/boxed-field.ts');
const { triplaneDecoder } = await load('field/triplane.ts');
const { pointsDecoder } = await load('field/points.ts');
const { sampleGrid } = await load('field/sample-grid.ts');
const { marchingCubes } = await load('surface/marching-cubes.ts');

const bundle = bundleOfKind(await loadBundle(directory), 'reconstruction');
const { input, decoder } = bundle.manifest;
const matting = await openMattingNetwork(
  bundleOfKind(await findBundle('isnet', [join(root, '../../../models')]), 'matte'),
);
const decoded = await decode(await readFile(photo));
const { matte: coverage } = await matte(decoded, (/** @type {unknown} */ image) => matting.predict(image));
const image = toInput(frame(decoded.image, coverage, { foregroundRatio: input.foregroundRatio, maxSize: 1024 }), input);
await write('input.f32', image);

const encoder = await timed('load', () => openEncoder(bundle));
const shape = [1, input.channels, input.size, input.size];
const outputs = await timed('encode', () => encoder.run({ [input.tensor]: { shape, data: image } }));
const sceneCodes = outputs.get(decoder.sceneCodes);
await write('scene_codes.f32', sceneCodes);

const session = await openDecoder(bundle, decoder, encoder);
const evaluate =
  decoder.kind === 'planes'
    ? triplaneDecoder(decoder, session, sceneCodes)
    : pointsDecoder(decoder, session, { shape: encoder.shapeOf(decoder.sceneCodes), data: sceneCodes });
const field = boxedField(bundle.manifest, evaluate, undefined);

const points = new Float32Array((await readFile(pointsFile)).buffer.slice(0));
const density = new Float32Array(points.length / 3);
const color = new Float32Array(points.length);
await timed('decode', () => field.evaluate(points, density));
await field.evaluateColors(points, color);
await write('density.f32', density);
await write('color.f32', color);
if (resolution) {
  const grid = await timed('field', () => sampleGrid(field, Number(resolution)));
  const { positions, indices } = marchingCubes(grid, field.threshold);
  await write('vertices.f32', positions);
  await write('indices.u32', indices);
}
console.log(`memory ${(process.resourceUsage().maxRSS / 1024).toFixed(0)}`);
await vite.close();
process.exit(0);
