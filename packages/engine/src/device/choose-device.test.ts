import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BundleError } from '../base/errors.js';
import { writeBallBundle } from '../bundle/bundle.fixture.js';
import { type Bundle, bundleOfKind, findBundle, loadBundle } from '../bundle/load-bundle.js';
import { ComputeDevice } from '../network/compute-device.js';
import { localSessions } from '../network/session.js';
import { openReconstructor } from '../reconstructor.js';
import { temporaryFolder } from '../temporary-folder.fixture.js';
import { accelerators, isSoftware } from './adapter.js';
import { chooseDevice, inspectDevice, readVerdict, saveVerdict } from './choose-device.js';
import { findAdapter } from './find-adapter.js';
import { probe } from './probe.js';

const models = join(import.meta.dirname, '../../../../models');

const folder = temporaryFolder(afterAll);
let ball: Bundle;
beforeAll(async () => {
  ball = await loadBundle(await writeBallBundle(folder, 'ball', { kind: 'planes' }));
});

test('auto chooses a working device, and reports why the ones before it were rejected', async () => {
  const { provider, adapter, rejected } = await chooseDevice('auto', [ball]);
  expect(rejected.map((report) => report.provider)).toEqual(
    accelerators.slice(0, provider === 'cpu' ? accelerators.length : accelerators.indexOf(provider)),
  );
  for (const { problem } of rejected) expect(problem).toMatch(/\w{3}/);
  if (adapter) expect(isSoftware(adapter)).toBe(false);
});

test('a named device that cannot be used is an error, and never replaced', async () => {
  const absent = process.platform === 'win32' ? 'coreml' : 'dml';
  const choosing = chooseDevice(absent, [ball]);
  await expect(choosing).rejects.toThrow(BundleError);
  await expect(choosing).rejects.toThrow(new RegExp(`The device ${absent} cannot be used: .*has no ${absent}`));
});

test('cpu is chosen without any check', async () => {
  expect(await chooseDevice('cpu', [ball])).toEqual({ provider: 'cpu', rejected: [] });
});

test('a probe of a folder without a bundle fails with the reason, and does not throw', async () => {
  const probed = await probe('time', { provider: 'cpu', directory: join(folder, 'nothing') });
  expect(probed).toMatchObject({ problem: expect.stringContaining('manifest.json cannot be read') });
});

test('a bundle is timed in a separate process', async () => {
  const probed = await probe('time', { provider: 'cpu', directory: ball.directory });
  expect(probed).toMatchObject({ result: { ms: expect.any(Number), firstMs: expect.any(Number) } });
});

describe('saved verdicts', () => {
  const verdict = { rms: 0.5, largest: null, ms: 1, checkedAt: '2026-01-01T00:00:00.000Z' };

  test('are found by their key, next to those of other devices', async () => {
    const cache = temporaryFolder();
    await saveVerdict(cache, 'a', verdict);
    await saveVerdict(cache, 'b', { ...verdict, rms: 0 });
    expect(await readVerdict(cache, 'a')).toEqual(verdict);
    expect(await readVerdict(cache, 'c')).toBeUndefined();
  });

  test('in a damaged file are ignored, and the next one repairs the file', async () => {
    const cache = temporaryFolder();
    await writeFile(join(cache, 'device-checks.json'), '{"a": {"rms": ');
    expect(await readVerdict(cache, 'a')).toBeUndefined();
    await saveVerdict(cache, 'a', verdict);
    expect(await readVerdict(cache, 'a')).toEqual(verdict);
  });

  test('that cannot be written do not cause an error', async () => {
    await saveVerdict(join(folder, 'no', 'such', 'folder'), 'a', verdict);
  });
});

// mesa-vulkan-drivers includes lavapipe. If it is the only driver, WebGPU uses it without a warning.
const found = process.platform === 'linux' ? await findAdapter('webgpu', { allowSoftware: true }) : { problem: '' };
const lavapipe = 'adapter' in found && found.adapter && isSoftware(found.adapter);

describe.runIf(lavapipe)('on a machine whose only Vulkan driver runs on the CPU', () => {
  test('auto rejects WebGPU and names the adapter', async () => {
    const { provider, rejected } = await chooseDevice('auto', []);
    expect(provider).toBe('cpu');
    const webgpu = rejected.find((report) => report.provider === 'webgpu');
    expect(webgpu?.problem).toMatch(/(llvmpipe|SwiftShader).* is not a GPU/);
  });

  test('webgpu by name is refused too, and the error says what to install', async () => {
    await expect(chooseDevice('webgpu', [])).rejects.toThrow(/is not a GPU.*docs\/devices\.md/);
  });

  test.each(['points', 'planes', 'gen3d-base'])('%s gives the CPU’s results on WebGPU', async (name) => {
    const bundle =
      name === 'points' || name === 'planes'
        ? await loadBundle(await writeBallBundle(folder, name, { kind: name }))
        : await findBundle(name, [models]);
    const { problem, checks } = await inspectDevice('webgpu', [bundle], { allowSoftware: true });
    expect(problem).toBeUndefined();
    expect(checks).toMatchObject([{ bundle: name, verdict: { rms: expect.closeTo(0, 4) } }]);
  });

  test('a whole field computed on WebGPU equals the one computed on the CPU', async () => {
    const densities = async (device: ComputeDevice) => {
      const reconstructor = await openReconstructor(bundleOfKind(ball, 'reconstruction'), localSessions({ device }));
      const image = { width: 32, height: 32, data: new Uint8Array(4 * 32 * 32).fill(180) };
      const field = await reconstructor.reconstruct({ image });
      const density = new Float32Array(1000);
      await field.evaluate(
        Float32Array.from({ length: 3000 }, (_, i) => 0.8 * Math.sin(1.7 * i)),
        density,
      );
      await reconstructor.release();
      return density;
    };
    const [expected, actual] = [await densities(new ComputeDevice()), await densities(new ComputeDevice('webgpu'))];
    const maxError = Math.max(...expected.map((value, i) => Math.abs(value - actual[i]!)));
    expect(maxError).toBeLessThan(1e-3);
    expect(Math.max(...expected) - Math.min(...expected)).toBeGreaterThan(10);
  });

  test('the verdict is saved for the next start', async () => {
    const cacheDir = temporaryFolder();
    const options = { cacheDir, allowSoftware: true };
    const first = await inspectDevice('webgpu', [ball], options);
    expect(await inspectDevice('webgpu', [ball], options)).toEqual(first);
  });

  test('a negative verdict rejects a device until it is checked again', async () => {
    const cacheDir = temporaryFolder();
    await inspectDevice('webgpu', [ball], { cacheDir, allowSoftware: true });
    const file = join(cacheDir, 'device-checks.json');
    await writeFile(file, (await readFile(file, 'utf8')).replace(/"rms": [^,]+/, '"rms": 0.52'));
    const options = { cacheDir, allowSoftware: true };
    expect((await inspectDevice('webgpu', [ball], options)).problem).toMatch(
      /ball computes wrong results.*average error 52 %/,
    );
    expect((await inspectDevice('webgpu', [ball], { ...options, again: true })).problem).toBeUndefined();
  });

  test('a bundle with other files or another name is compared separately', async () => {
    const cacheDir = temporaryFolder();
    const other = await loadBundle(await writeBallBundle(folder, 'ball-2', { kind: 'planes', radius: 0.3 }));
    await inspectDevice('webgpu', [ball, other], { cacheDir, allowSoftware: true });
    expect(Object.keys(JSON.parse(await readFile(join(cacheDir, 'device-checks.json'), 'utf8')))).toHaveLength(2);
  });
});
