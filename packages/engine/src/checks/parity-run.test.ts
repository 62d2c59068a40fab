import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { writeBallBundle } from '../bundle/bundle.fixture.js';
import { type Bundle, findBundle, loadBundle } from '../bundle/load-bundle.js';
import { difference, isTolerable } from '../device/difference.js';
import { registerProvider } from '../network/backend.fixture.js';
import { ComputeDevice } from '../network/compute-device.js';
import { Tensor } from '../network/onnxruntime.js';
import { temporaryFolder } from '../temporary-folder.fixture.js';
import { compareWithCpu } from './parity-run.js';

const models = join(import.meta.dirname, '../../../../models');

const folder = temporaryFolder(afterAll);

/** Registers a provider with changed outputs of the CPU. */
function registerChanged(name: string, change: (values: Float32Array) => void): void {
  registerProvider(name, async (run) => {
    const outputs = await run();
    return Object.fromEntries(
      Object.entries(outputs).map(([output, value]) => {
        const data = Float32Array.from((value as Tensor).data as Float32Array);
        change(data);
        return [output, new Tensor('float32', data, value.dims)];
      }),
    );
  });
}

const enlarge = (values: Float32Array) => {
  for (let i = 0; i < values.length; i++) values[i]! *= 1.05;
};

const compareBundle = async (bundle: Bundle, provider: string) =>
  (await compareWithCpu(bundle, new ComputeDevice(provider), new ComputeDevice())).difference;

describe.each(['points', 'planes'] as const)('comparing %s with the CPU', (kind) => {
  const compare = async (provider: string) =>
    compareBundle(await loadBundle(await writeBallBundle(folder, kind, { kind })), provider);

  test('a device with the same outputs has a difference of 0', async () => {
    expect(await compare('cpu')).toEqual({ rms: 0, largest: 0 });
  });

  test('rounding is tolerable, values 5 % too large are not', async () => {
    registerChanged(`rounding-${kind}`, (values) => {
      for (let i = 0; i < values.length; i++) values[i] = Math.fround(values[i]! * (1 + 1e-4 * (i % 3)));
    });
    registerChanged(`large-${kind}`, enlarge);
    expect(isTolerable(await compare(`rounding-${kind}`))).toBe(true);
    expect(isTolerable(await compare(`large-${kind}`))).toBe(false);
  });

  test('one NaN in a tensor makes the difference infinite', async () => {
    registerChanged(`nan-${kind}`, (values) => {
      values[Math.floor(values.length / 2)] = Number.NaN;
    });
    expect(await compare(`nan-${kind}`)).toEqual({ rms: Infinity, largest: Infinity });
  });
});

test('a network without a decoder, gen3d-base, is compared the same way', async () => {
  const bundle = await findBundle('gen3d-base', [models]);
  expect(await compareBundle(bundle, 'cpu')).toEqual({ rms: 0, largest: 0 });
  registerChanged('large-gen3d-base', enlarge);
  expect(isTolerable(await compareBundle(bundle, 'large-gen3d-base'))).toBe(false);
});

describe('the difference of two outputs', () => {
  const of = (expected: number[], actual: number[]) =>
    difference(new Map([['y', Float32Array.from(expected)]]), new Map([['y', Float32Array.from(actual)]]));

  test('is relative to the spread and the range of the expected values', () => {
    // Deviation 5, range 10: an error of 1 everywhere is a fifth of the deviation and a tenth of the range.
    const { rms, largest } = of([0, 10, 0, 10], [1, 11, 1, 11]);
    expect(rms).toBeCloseTo(0.2, 6);
    expect(largest).toBeCloseTo(0.1, 6);
  });

  test('at one value of many counts, although the mean hardly shows it', () => {
    const right = Array.from({ length: 100_000 }, (_, i) => i % 2);
    const wrong = right.with(777, 0.5);
    const found = of(right, wrong);
    expect(found.rms).toBeLessThan(0.01);
    expect(isTolerable(found)).toBe(false);
  });

  test('ignores values that are infinite in both, but not in one', () => {
    expect(of([1, Infinity, 2], [1, Infinity, 2])).toEqual({ rms: 0, largest: 0 });
    expect(isTolerable(of([1, Infinity, 2], [1, 3e38, 2]))).toBe(false);
  });

  test('of a constant tensor is relative to its value', () => {
    expect(isTolerable(of([5, 5, 5], [5.000_01, 5, 5]))).toBe(true);
    expect(isTolerable(of([5, 5, 5], [6, 6, 6]))).toBe(false);
  });

  test('of a missing output is infinite', () => {
    expect(difference(new Map([['y', Float32Array.of(1)]]), new Map())).toEqual({ rms: Infinity, largest: Infinity });
  });
});
