import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BundleError } from '../base/errors.js';
import { writeBallBundle } from '../bundle/bundle.fixture.js';
import { type Bundle, bundleOfKind, findBundle, loadBundle } from '../bundle/load-bundle.js';
import { ComputeDevice } from '../network/compute-device.js';
import { openReconstructor } from '../reconstructor.js';
import { isSoftware } from './adapter.js';
import { keepVerdict, keptVerdict } from './check-cache.js';
import { chooseDevice, inspectDevice } from './choose-device.js';
import { accelerators } from './device.js';
import { findAdapter } from './find-adapter.js';
import { probe } from './probe.js';

const models = join(import.meta.dirname, '../../../../models');

let folder: string;
let ball: Bundle;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gen3d-devices-'));
  ball = await loadBundle(await writeBallBundle(folder, 'ball', { kind: 'planes' }));
});
afterAll(() => rm(folder, { recursive: true }));

test('auto ends with something that works, and knows why not the others before it', async () => {
  const { provider, adapter, passedOver } = await chooseDevice('auto', [ball]);
  expect(passedOver.map((report) => report.provider)).toEqual(
    accelerators.slice(0, provider === 'cpu' ? accelerators.length : accelerators.indexOf(provider)),
  );
  for (const { problem } of passedOver) expect(problem).toMatch(/\w{3}/);
  if (adapter) expect(isSoftware(adapter)).toBe(false);
});

test('a device that was named and cannot be used is refused in words, never replaced', async () => {
  const absent = process.platform === 'win32' ? 'coreml' : 'dml';
  const choosing = chooseDevice(absent, [ball]);
  await expect(choosing).rejects.toThrow(BundleError);
  await expect(choosing).rejects.toThrow(new RegExp(`The device ${absent} cannot be used: .*has no ${absent}`));
});

test('cpu asks nobody', async () => {
  expect(await chooseDevice('cpu', [ball])).toEqual({ provider: 'cpu', passedOver: [] });
});

test('a probe of a folder that holds no bundle fails with the reason, and does not throw', async () => {
  const { reply } = await probe({ type: 'time', provider: 'cpu', directory: join(folder, 'nothing') });
  expect(reply).toEqual({ type: 'failed', reason: expect.stringContaining('manifest.json cannot be read') });
});

test('a bundle is timed in a process of its own', async () => {
  const { reply } = await probe({ type: 'time', provider: 'cpu', directory: ball.directory });
  expect(reply).toMatchObject({ type: 'timed', ms: expect.any(Number), firstMs: expect.any(Number) });
});

describe('kept verdicts', () => {
  const verdict = { rms: 0.5, largest: null, ms: 1, firstMs: 2, cpuMs: 3, checkedAt: '2026-01-01T00:00:00.000Z' };

  test('are found again under their key alone, beside those of other devices', async () => {
    const cache = await mkdtemp(join(folder, 'cache-'));
    await keepVerdict(cache, 'a', verdict);
    await keepVerdict(cache, 'b', { ...verdict, rms: 0 });
    expect(await keptVerdict(cache, 'a')).toEqual(verdict);
    expect(await keptVerdict(cache, 'c')).toBeUndefined();
  });

  test('in a damaged file count as none, and the next one mends it', async () => {
    const cache = await mkdtemp(join(folder, 'cache-'));
    await writeFile(join(cache, 'device-checks.json'), '{"a": {"rms": ');
    expect(await keptVerdict(cache, 'a')).toBeUndefined();
    await keepVerdict(cache, 'a', verdict);
    expect(await keptVerdict(cache, 'a')).toEqual(verdict);
  });

  test('that cannot be written are no error', async () => {
    await keepVerdict(join(folder, 'no', 'such', 'folder'), 'a', verdict);
  });
});

// mesa-vulkan-drivers brings lavapipe; where it is the only driver, it is what WebGPU takes without a word.
const found = process.platform === 'linux' ? await findAdapter('webgpu', { allowSoftware: true }) : { problem: '' };
const lavapipe = 'adapter' in found && found.adapter && isSoftware(found.adapter);

describe.runIf(lavapipe)('on a machine whose only Vulkan driver computes on the CPU', () => {
  test('auto passes WebGPU over and names the adapter', async () => {
    const { provider, passedOver } = await chooseDevice('auto', []);
    expect(provider).toBe('cpu');
    const webgpu = passedOver.find((report) => report.provider === 'webgpu');
    expect(webgpu?.problem).toMatch(/(llvmpipe|SwiftShader).* is no GPU/);
  });

  test('webgpu by name is refused too, with what to install', async () => {
    await expect(chooseDevice('webgpu', [])).rejects.toThrow(/is no GPU.*docs\/devices\.md/);
  });

  test.each(['points', 'planes', 'gen3d-tiny'])('%s gives the numbers of the CPU on WebGPU', async (name) => {
    const bundle =
      name === 'points' || name === 'planes'
        ? await loadBundle(await writeBallBundle(folder, name, { kind: name }))
        : await findBundle(name, [models]);
    const { problem, checks } = await inspectDevice('webgpu', [bundle], { allowSoftware: true });
    expect(problem).toBeUndefined();
    expect(checks).toMatchObject([{ bundle: name, verdict: { rms: expect.closeTo(0, 4) } }]);
  });

  test('a whole field computed on WebGPU is the field computed on the CPU', async () => {
    const densities = async (device: ComputeDevice) => {
      const model = await openReconstructor(bundleOfKind(ball, 'reconstruction'), { device });
      const image = { width: 32, height: 32, data: new Uint8Array(4 * 32 * 32).fill(180) };
      const field = await model.reconstruct({ image });
      const density = new Float32Array(1000);
      await field.evaluate(
        Float32Array.from({ length: 3000 }, (_, i) => 0.8 * Math.sin(1.7 * i)),
        density,
      );
      await model.release();
      return density;
    };
    const [expected, actual] = [await densities(new ComputeDevice()), await densities(new ComputeDevice('webgpu'))];
    const furthest = Math.max(...expected.map((value, i) => Math.abs(value - actual[i]!)));
    expect(furthest).toBeLessThan(1e-3);
    expect(Math.max(...expected) - Math.min(...expected)).toBeGreaterThan(10);
  });

  test('the verdict is kept for the next start', async () => {
    const cacheDir = await mkdtemp(join(folder, 'cache-'));
    const options = { cacheDir, allowSoftware: true };
    const first = await inspectDevice('webgpu', [ball], options);
    expect(await inspectDevice('webgpu', [ball], options)).toEqual(first);
  });

  test('a verdict against a device refuses it with the figure, until it is checked again', async () => {
    const cacheDir = await mkdtemp(join(folder, 'cache-'));
    await inspectDevice('webgpu', [ball], { cacheDir, allowSoftware: true });
    const file = join(cacheDir, 'device-checks.json');
    await writeFile(file, (await readFile(file, 'utf8')).replace(/"rms": [^,]+/, '"rms": 0.52'));
    const options = { cacheDir, allowSoftware: true };
    expect((await inspectDevice('webgpu', [ball], options)).problem).toMatch(/ball gives other numbers.*by 52 %/);
    expect((await inspectDevice('webgpu', [ball], { ...options, again: true })).problem).toBeUndefined();
  });

  test('a bundle with other files, or another name for them, is compared anew', async () => {
    const cacheDir = await mkdtemp(join(folder, 'cache-'));
    const other = await loadBundle(await writeBallBundle(folder, 'ball-2', { kind: 'planes', radius: 0.3 }));
    await inspectDevice('webgpu', [ball, other], { cacheDir, allowSoftware: true });
    expect(Object.keys(JSON.parse(await readFile(join(cacheDir, 'device-checks.json'), 'utf8')))).toHaveLength(2);
  });
});
