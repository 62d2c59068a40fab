import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { assumedSpeed, flopsOf, graphsOf, ManifestWithoutGraphs, type Precision } from '@gen3d/engine/bundles';
import { describe, expect, test } from 'vitest';
import type { TensorRecord } from '../checkpoint/tensor-record.js';
import { readSkeleton } from './assemble.js';
import { completeSkeleton, missingWeights } from './skeleton.js';

const models = join(import.meta.dirname, '../../../../models');

/** The graphs in models/skeletons that are completed with a publisher's weights, and their manifest in the catalog. */
async function published(name: 'triposg' | 'triposr', precision: Precision) {
  const { bundles } = JSON.parse(await readFile(join(models, 'catalog.json'), 'utf8'));
  const entry = bundles.find(({ manifest }: { manifest: { name: string } }) => manifest.name === name);
  const manifest = ManifestWithoutGraphs.parse(entry.manifest);
  const folder = join(models, entry.skeleton.folder);
  return { manifest, folder, ...(await readSkeleton(folder, manifest, entry.skeleton.notice, precision)) };
}

const count = (shape: readonly number[]) => shape.reduce((product, size) => product * size, 1);

describe('TripoSG', () => {
  test("TripoSG's graphs use every published weight that they need, once", async () => {
    const { manifest, weights } = await published('triposg', 'fp32');
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
      const { manifest, weights } = await published('triposg', 'fp32');
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
    const half = await published('triposg', 'fp16');
    const full = await published('triposg', 'fp32');
    const described = ({ weights }: typeof half) =>
      weights.map(({ checkpoint, name, shape }) => `${checkpoint} ${name} ${shape}`).sort();
    expect(described(half)).toEqual(described(full));
    const halves = half.weights.filter(({ dtype }) => dtype === 'F16');
    expect(halves.filter(({ name, shape }) => shape.length < 2 || !name.endsWith('.weight'))).toEqual([]);
    const sum = (weights: typeof half.weights) => weights.reduce((total, { shape }) => total + count(shape), 0);
    expect(sum(halves)).toBeGreaterThan(0.99 * sum(half.weights));
  });

  test('the repository has each graph in both precisions, and they are small', async () => {
    const { manifest, folder } = await published('triposg', 'fp32');
    const names = graphsOf(manifest).flatMap(({ name }) => [name, name.replace('.onnx', '-fp16.onnx')]);
    const found = await readdir(folder);
    expect(found.filter((name) => name.endsWith('.onnx')).sort()).toEqual(names.sort());
    for (const name of found) expect((await stat(join(folder, name))).size).toBeLessThan(200_000);
  });

  test("the photo is framed as by the publisher's code, and the estimate for a CPU is near the measured 16 minutes", async () => {
    const { manifest } = await published('triposg', 'fp32');
    if (manifest.kind !== 'reconstruction' || manifest.decoder.kind !== 'steps') throw new Error('not a flow model');
    // Padded by a tenth on each side, scaled to 256 pixels, and cropped to 224.
    expect(manifest.input.foregroundRatio).toBeCloseTo((1 / 1.2) * (256 / 224), 6);
    const minutes = flopsOf(manifest.decoder) / assumedSpeed(2) / 60;
    expect(Math.abs(Math.log2(minutes / 16))).toBeLessThan(1);
  });
});

describe('TripoSR', () => {
  test("TripoSR's skeleton uses every weight of the published checkpoint except the pooler's, once", async () => {
    const { weights } = await published('triposr', 'fp32');
    // 549 tensors with 419,275,628 parameters. Two of them are the unused pooler's.
    expect(weights).toHaveLength(549 - 2);
    expect(new Set(weights.map(({ name }) => name)).size).toBe(weights.length);
    expect(weights.reduce((sum, { shape }) => sum + count(shape), 0)).toBe(419_275_628 - 768 * 768 - 768);
    expect(weights.every(({ dtype }) => dtype === 'F32')).toBe(true);
  });

  test('in half precision it uses the same weights, and norms and biases stay float32', async () => {
    const { weights } = await published('triposr', 'fp16');
    const full = await published('triposr', 'fp32');
    const described = (of: typeof weights) => of.map(({ name, shape }) => `${name} ${shape}`).sort();
    expect(described(weights)).toEqual(described(full.weights));
    expect(weights.filter(({ dtype, name }) => dtype === 'F16' && !name.endsWith('.weight'))).toEqual([]);
    expect(weights.filter(({ dtype, shape }) => dtype === 'F16' && shape.length < 2)).toEqual([]);
    const halves = weights.filter(({ dtype }) => dtype === 'F16').reduce((sum, { shape }) => sum + count(shape), 0);
    expect(halves).toBeGreaterThan(0.97 * 419_275_628);
  });

  test('the skeletons in the repository are small', async () => {
    const folder = join(models, 'skeletons/triposr');
    for (const name of await readdir(folder)) expect((await stat(join(folder, name))).size).toBeLessThan(200_000);
  });

  test('a completed graph has the given offsets, and can be completed again', async () => {
    const graph = await readFile(join(models, 'skeletons/triposr/encoder.onnx'));
    const wanted = missingWeights(graph);
    const index = new Map(
      wanted.map((weight, i) => [weight.name, { ...weight, offset: 64 * i, length: 64 } as TensorRecord]),
    );
    const complete = completeSkeleton(graph, 'other.bin', index);
    expect(missingWeights(complete)).toEqual(wanted.map((weight) => ({ ...weight, checkpoint: 'other.bin' })));
    expect(complete.includes('model.ckpt')).toBe(false);
    expect(complete.toString('latin1').match(/other\.bin/g)).toHaveLength(wanted.length);
    expect(completeSkeleton(complete, 'other.bin', index).equals(complete)).toBe(true);
  });

  test('a file that is not an ONNX graph is refused', () => {
    expect(() => missingWeights(Buffer.from('not an ONNX graph at all'))).toThrow('The skeleton is not an ONNX graph');
  });
});
