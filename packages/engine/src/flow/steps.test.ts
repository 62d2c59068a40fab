import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { flowModel, readFlowReference, writeFlowModel } from '../../../weights/src/skeleton/flow-model.fixture.js';
import type { Cutout } from '../base/image.js';
import { type Bundle, loadBundle } from '../bundle/load-bundle.js';
import { compareWithCpu } from '../checks/parity-run.js';
import { testBundle } from '../checks/test-bundle.js';
import type { CameralessField } from '../field/density-field.js';
import { sampleGrid } from '../field/sample-grid.js';
import { densitiesAt } from '../field/test-fields.fixture.js';
import { ComputeDevice } from '../network/compute-device.js';
import { openEncoder } from '../network/session.js';
import { frame } from '../photo/frame.js';
import { temporaryFolder } from '../temporary-folder.fixture.js';
import {
  normalNoise,
  openStep,
  openSteps,
  type StepsManifest,
  sampleLatents,
  samplerSteps,
  stepInputs,
} from './steps.js';

const fixture = join(import.meta.dirname, '../../fixtures/sphere-and-chair');

const folder = temporaryFolder(afterAll);

/** The trained bundle, with changes to its decoder. */
async function bundleWith(change: Partial<StepsManifest['decoder']> = {}): Promise<Bundle<StepsManifest>> {
  const bundle = (await loadBundle(fixture)) as Bundle<StepsManifest>;
  const { manifest } = bundle;
  return { ...bundle, manifest: { ...manifest, decoder: { ...manifest.decoder, ...change } } };
}

async function cutoutOf(name: 'sphere' | 'chair'): Promise<Cutout> {
  const { data, info } = await sharp(join(fixture, `${name}.png`))
    .raw()
    .toBuffer({ resolveWithObject: true });
  const image = { width: info.width, height: info.height, data: new Uint8Array(data) };
  const matte = { width: info.width, height: info.height, data: image.data.filter((_, i) => i % 4 === 3) };
  return frame(image, matte, { foregroundRatio: 0.9, maxSize: 512 });
}

async function fieldOf(name: 'sphere' | 'chair', change?: Partial<StepsManifest['decoder']>): Promise<CameralessField> {
  const { encode } = await openSteps(await bundleWith(change));
  return encode(await cutoutOf(name));
}

let fields: Record<'sphere' | 'chair', CameralessField>;
beforeAll(async () => {
  fields = { sphere: await fieldOf('sphere'), chair: await fieldOf('chair') };
});

/** Signed distances, negative inside, as in the fixture's train.py. */
const distanceTo = {
  sphere: (x: number, y: number, z: number) => Math.hypot(x, y, z) - 0.7,
  chair: (x: number, y: number, z: number) => {
    const boxes = [
      [0, 0, 0, 0.5, 0.07, 0.5],
      [0, 0.5, -0.43, 0.5, 0.45, 0.07],
      ...[-0.42, 0.42].flatMap((a) => [-0.42, 0.42].map((b) => [a, -0.5, b, 0.08, 0.45, 0.08])),
    ] as [number, number, number, number, number, number][];
    return Math.min(
      ...boxes.map(([cx, cy, cz, hx, hy, hz]) => {
        const q = [Math.abs(x - cx) - hx, Math.abs(y - cy) - hy, Math.abs(z - cz) - hz] as const;
        return Math.hypot(...q.map((value) => Math.max(value, 0))) + Math.min(Math.max(...q), 0);
      }),
    );
  },
};

/** Points on a regular grid that are not within 0.03 of the surface, and whether each is inside. */
function knownPoints(name: 'sphere' | 'chair'): { points: Float32Array; inside: boolean[] } {
  const steps = Array.from({ length: 25 }, (_, i) => -0.96 + 0.08 * i);
  const all = steps.flatMap((x) => steps.flatMap((y) => steps.map((z) => [x, y, z] as const)));
  const known = all.filter((point) => Math.abs(distanceTo[name](...point)) > 0.03);
  return { points: Float32Array.from(known.flat()), inside: known.map((point) => distanceTo[name](...point) < 0) };
}

/** Intersection over union of the shape found and the known one. */
async function agreement(field: CameralessField, name: 'sphere' | 'chair'): Promise<number> {
  const { points, inside } = knownPoints(name);
  const density = await densitiesAt(field, points);
  let [both, either] = [0, 0];
  for (const [i, isInside] of inside.entries()) {
    const found = density[i]! > field.threshold;
    if (found && isInside) both++;
    if (found || isInside) either++;
  }
  return both / either;
}

test.each(['sphere', 'chair'] as const)('the photo of a %s becomes its shape', async (name) => {
  expect(await agreement(fields[name], name)).toBeGreaterThan(0.97);
});

test('the same photo and seed give the same shape, and another seed gives it from other latents', async () => {
  const { points } = knownPoints('chair');
  const first = await densitiesAt(fields.chair, points);
  expect(await densitiesAt(await fieldOf('chair'), points)).toEqual(first);
  const { sampler } = (await bundleWith()).manifest.decoder;
  const other = await fieldOf('chair', { sampler: { ...sampler, seed: 1 } });
  expect(await densitiesAt(other, points)).not.toEqual(first);
  expect(await agreement(other, 'chair')).toBeGreaterThan(0.97);
});

test('the sign of the field is found on the faces of the box, unless the manifest states it', async () => {
  const { points } = knownPoints('sphere');
  const found = await densitiesAt(fields.sphere, points);
  expect(await densitiesAt(await fieldOf('sphere', { inside: 'below' }), points)).toEqual(found);
  const stated = await densitiesAt(await fieldOf('sphere', { inside: 'above' }), points);
  expect(stated).toEqual(found.map((density) => -density));
});

test('at 128 cells, at most 12 % of the samples of a chair are evaluated', async () => {
  const { evaluations } = await sampleGrid(fields.chair, 128);
  expect(evaluations / 128 ** 3).toBeLessThan(0.12);
});

test('an aborted photo ends before the next step', async () => {
  const { encode } = await openSteps(await bundleWith());
  const abort = new AbortController();
  const shares: number[] = [];
  const onProgress = (share: number) => {
    shares.push(share);
    if (shares.length === 2) abort.abort(new Error('canceled'));
  };
  await expect(encode(await cutoutOf('chair'), { signal: abort.signal, onProgress })).rejects.toThrow('canceled');
  expect(shares).toEqual([0.1, 0.2]);
});

test('a graph that does not fit the manifest, or another graph, is a BundleError with both shapes', async () => {
  await expect(openSteps(await bundleWith({ tokens: 16 }))).rejects.toThrow(
    /step\.onnx: input "latents" has the shape \[1, 32, 8\], its manifest says \[1, 16, 8\]/,
  );
  const swapped = { graph: 'points.onnx', latents: 'latents' };
  await expect(openSteps(await bundleWith({ latentsGraph: swapped }))).rejects.toThrow(
    /points\.onnx has no input "latents"/,
  );
});

test('a manifest without one of the graphs in its files names the field', async () => {
  const directory = join(folder, 'incomplete');
  await cp(fixture, directory, { recursive: true });
  const manifest = JSON.parse(await readFile(join(directory, 'manifest.json'), 'utf8'));
  manifest.files = manifest.files.filter(({ name }: { name: string }) => name !== 'step.onnx');
  await writeFile(join(directory, 'manifest.json'), JSON.stringify(manifest));
  await expect(loadBundle(directory)).rejects.toThrow(/"step\.onnx" is not in files\n.*decoder\.step\.graph/);
});

test('all four graphs pass the self-test and the comparison with the CPU', async () => {
  const bundle = await bundleWith();
  await testBundle(bundle);
  const run = await compareWithCpu(bundle, new ComputeDevice(), new ComputeDevice());
  expect(run.difference).toEqual({ rms: 0, largest: 0 });
});

test('the sampler gives the latents of PyTorch after each of 8 steps, within 1e-5', async () => {
  const bundle = (await loadBundle(await writeFlowModel(folder))) as Bundle<StepsManifest>;
  const { decoder } = bundle.manifest;
  const expected = await readFlowReference();
  expect(decoder.sampler).toMatchObject({ steps: expected.steps, guidance: expected.guidance });
  const encoder = await openEncoder(bundle);
  const step = await openStep(bundle, encoder);
  const imageTokens = { shape: [1, flowModel.imageTokens, flowModel.imageChannels], data: expected.imageTokens };
  const found: Float32Array[] = [];
  await sampleLatents(expected.noise, decoder.sampler, async (data, samplerStep) => {
    const latents = { shape: [1, flowModel.tokens, flowModel.channels], data };
    const outputs = await step.run(stepInputs(decoder, latents, imageTokens, samplerStep));
    found.push(outputs.get(decoder.step.nextLatents)!);
    return found.at(-1)!;
  });
  const errors = expected.latents.map(
    (latents, i) => Math.hypot(...latents.map((value, k) => found[i]![k]! - value)) / Math.hypot(...latents),
  );
  expect(errors).toHaveLength(8);
  expect(Math.max(...errors)).toBeLessThan(1e-5);
  await encoder.release();
  await step.release();
});

const sampler = { steps: 4, guidance: 7, timestepScale: 1000, shift: 1, seed: 0 };

test('a shift of 3 moves sigma 0.75, 0.5 and 0.25 to 0.9, 0.75 and 0.5', () => {
  const steps = samplerSteps({ ...sampler, shift: 3 });
  expect(steps.map(({ timestep }) => Math.round(timestep))).toEqual([1000, 900, 750, 500]);
  expect(steps.reduce((sum, { stepSize }) => sum + stepSize, 0)).toBeCloseTo(1, 12);
});

test('a seed always gives the same noise, and another seed gives other noise', () => {
  // From another implementation of the documented generator, in Python.
  const expected = ['1.32021', '0.08698', '0.81990', '-0.62692', '0.74491'];
  expect([...normalNoise(0, 5)].map((value) => value.toFixed(5))).toEqual(expected);
  expect(normalNoise(7, 1001)).toEqual(normalNoise(7, 1001));
  expect(normalNoise(7, 1000)).not.toEqual(normalNoise(8, 1000));
});

test('the first numbers do not depend on how many are asked for', () => {
  expect(normalNoise(3, 5)).toEqual(normalNoise(3, 6).subarray(0, 5));
});

test('a million numbers have the moments and the tails of a normal distribution', () => {
  const noise = normalNoise(1, 1_000_000);
  const moment = (power: number) => noise.reduce((sum, value) => sum + value ** power, 0) / noise.length;
  const beyond = (limit: number) => noise.reduce((count, value) => count + (value > limit ? 1 : 0), 0) / noise.length;
  // Tolerances are four standard errors.
  expect(Math.abs(moment(1))).toBeLessThan(0.004);
  expect(Math.abs(moment(2) - 1)).toBeLessThan(0.006);
  expect(Math.abs(moment(3))).toBeLessThan(0.016);
  expect(Math.abs(moment(4) - 3)).toBeLessThan(0.04);
  expect(Math.abs(beyond(2) - 0.02275)).toBeLessThan(0.0006);
  // Neighbors, which come from the same pair, are independent.
  const product = noise.reduce((sum, value, i) => sum + (i % 2 ? 0 : value * noise[i + 1]!), 0) / (noise.length / 2);
  expect(Math.abs(product)).toBeLessThan(0.006);
});
