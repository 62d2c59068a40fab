import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { assumedSpeed, flopsOf, graphsOf, ManifestWithoutGraphs, type Precision } from '@gen3d/engine/bundles';
import { expect, test } from 'vitest';
import { readSkeleton } from './assemble.js';

const models = join(import.meta.dirname, '../../../../models');

async function triposg(precision: Precision) {
  const { bundles } = JSON.parse(await readFile(join(models, 'catalog.json'), 'utf8'));
  const entry = bundles.find(({ manifest }: { manifest: { name: string } }) => manifest.name === 'triposg');
  const manifest = ManifestWithoutGraphs.parse(entry.manifest);
  const folder = join(models, entry.skeleton.folder);
  return { manifest, folder, ...(await readSkeleton(folder, manifest, entry.skeleton.notice, precision)) };
}

const count = (shape: readonly number[]) => shape.reduce((product, size) => product * size, 1);

test("TripoSG's graphs use every published weight that they need, once", async () => {
  const { manifest, weights } = await triposg('fp32');
  const described = manifest.files.map(({ name }) => {
    const own = weights.filter(({ checkpoint }) => checkpoint === name);
    expect(new Set(own.map((weight) => weight.name)).size).toBe(own.length);
    return [name, own.length, own.reduce((sum, { shape }) => sum + count(shape), 0)];
  });
  expect(described).toEqual([
    // Without the mask token, which only training uses.
    ['image_encoder.safetensors', 439 - 1, 304_368_640 - 1024],
    ['transformer.safetensors', 554, 1_439_556_160],
    // Without the encoder of shapes.
    ['vae.safetensors', 231, 214_208_513],
  ]);
});

test.each([
  // diffusers wrote the transformer without metadata.
  ['transformer.safetensors', {}, {}],
  ['image_encoder.safetensors', { __metadata__: { format: 'pt' } }, { 'embeddings.mask_token': [1, 1024] }],
])(
  'a file with the weights of %s and the header of safetensors has the published size',
  async (name, start, unused) => {
    const { manifest, weights } = await triposg('fp32');
    const own = weights
      .filter(({ checkpoint }) => checkpoint === name)
      .map((weight) => [weight.name, weight.shape] as const);
    const header: Record<string, object> = { ...start };
    let end = 0;
    for (const [tensor, shape] of [...own, ...Object.entries(unused)].sort(([a], [b]) => (a < b ? -1 : 1))) {
      const offset = end;
      end += 4 * count(shape);
      header[tensor] = { dtype: 'F32', shape, data_offsets: [offset, end] };
    }
    const size = 8 + 8 * Math.ceil(JSON.stringify(header).length / 8) + end;
    expect(size).toBe(manifest.files.find((file) => file.name === name)!.size);
  },
);

test('in half precision, the same weights are used, and norms and biases stay float32', async () => {
  const half = await triposg('fp16');
  const full = await triposg('fp32');
  const described = ({ weights }: typeof half) =>
    weights.map(({ checkpoint, name, shape }) => `${checkpoint} ${name} ${shape}`).sort();
  expect(described(half)).toEqual(described(full));
  const halves = half.weights.filter(({ dtype }) => dtype === 'F16');
  expect(halves.filter(({ name, shape }) => shape.length < 2 || !name.endsWith('.weight'))).toEqual([]);
  const sum = (weights: typeof half.weights) => weights.reduce((total, { shape }) => total + count(shape), 0);
  expect(sum(halves)).toBeGreaterThan(0.99 * sum(half.weights));
});

test('the repository has each graph in both precisions, and they are small', async () => {
  const { manifest, folder } = await triposg('fp32');
  const names = graphsOf(manifest).flatMap(({ name }) => [name, name.replace('.onnx', '-fp16.onnx')]);
  const found = await readdir(folder);
  expect(found.filter((name) => name.endsWith('.onnx')).sort()).toEqual(names.sort());
  for (const name of found) expect((await stat(join(folder, name))).size).toBeLessThan(200_000);
});

test("the photo is framed as by the publisher's code, and the estimate for a CPU is near the measured 16 minutes", async () => {
  const { manifest } = await triposg('fp32');
  if (manifest.kind !== 'reconstruction' || manifest.decoder.kind !== 'steps') throw new Error('not a flow model');
  // Padded by a tenth on each side, scaled to 256 pixels, and cropped to 224.
  expect(manifest.input.foregroundRatio).toBeCloseTo((1 / 1.2) * (256 / 224), 6);
  const minutes = flopsOf(manifest.decoder) / assumedSpeed(2) / 60;
  expect(Math.abs(Math.log2(minutes / 16))).toBeLessThan(1);
});
