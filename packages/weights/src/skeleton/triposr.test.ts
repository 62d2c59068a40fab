import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ManifestWithoutGraphs } from '@gen3d/engine/bundles';
import { expect, test } from 'vitest';
import type { TensorRecord } from '../checkpoint/tensor-record.js';
import { readSkeleton } from './assemble.js';
import { isQuantized, unquantized } from './quantize.js';
import { completeSkeleton, missingWeights } from './skeleton.js';

const models = join(import.meta.dirname, '../../../../models');

async function triposr(precision: 'fp32' | 'fp16' | 'int8') {
  const { bundles } = JSON.parse(await readFile(join(models, 'catalog.json'), 'utf8'));
  const entry = bundles.find(({ manifest }: { manifest: { name: string } }) => manifest.name === 'triposr');
  const folder = join(models, entry.skeleton.folder);
  return readSkeleton(folder, ManifestWithoutGraphs.parse(entry.manifest), entry.skeleton.notice, precision);
}

const count = (shape: readonly number[]) => shape.reduce((product, size) => product * size, 1);

test("TripoSR's skeleton uses every weight of the published checkpoint except the pooler's, once", async () => {
  const { weights } = await triposr('fp32');
  // 549 tensors with 419,275,628 parameters. Two of them are the unused pooler's.
  expect(weights).toHaveLength(549 - 2);
  expect(new Set(weights.map(({ name }) => name)).size).toBe(weights.length);
  expect(weights.reduce((sum, { shape }) => sum + count(shape), 0)).toBe(419_275_628 - 768 * 768 - 768);
  expect(weights.every(({ dtype }) => dtype === 'F32')).toBe(true);
});

test('in half precision it uses the same weights, and norms and biases stay float32', async () => {
  const { weights } = await triposr('fp16');
  const full = await triposr('fp32');
  const described = (of: typeof weights) => of.map(({ name, shape }) => `${name} ${shape}`).sort();
  expect(described(weights)).toEqual(described(full.weights));
  expect(weights.filter(({ dtype, name }) => dtype === 'F16' && !name.endsWith('.weight'))).toEqual([]);
  expect(weights.filter(({ dtype, shape }) => dtype === 'F16' && shape.length < 2)).toEqual([]);
  const halves = weights.filter(({ dtype }) => dtype === 'F16').reduce((sum, { shape }) => sum + count(shape), 0);
  expect(halves).toBeGreaterThan(0.97 * 419_275_628);
});

test('with 8 bits it uses the same weights, and nearly all of them have 8 bits and a scale', async () => {
  const { weights } = await triposr('int8');
  const full = await triposr('fp32');
  const described = (of: typeof full.weights) => of.map(({ name, shape }) => `${name} ${shape}`).sort();
  const scales = weights.filter(({ name }) => name.endsWith('.scales'));
  const quantized = weights.filter(({ dtype }) => dtype === 'U8');
  expect(scales.map((weight) => unquantized(weight))).toEqual(quantized.map((weight) => unquantized(weight)));
  const sources = weights
    .filter((weight) => !scales.includes(weight))
    .map((weight) => (isQuantized(weight) ? { ...weight, ...unquantized(weight) } : weight));
  expect(described(sources)).toEqual(described(full.weights));
  expect(quantized.reduce((sum, { shape }) => sum + count(shape), 0)).toBeGreaterThan(0.97 * 419_275_628);
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
