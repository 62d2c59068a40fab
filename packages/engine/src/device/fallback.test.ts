import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { EngineError } from '../base/errors.js';
import { writeBallBundle } from '../bundle/bundle.fixture.js';
import { type Bundle, bundleOfKind, findBundle, loadBundle } from '../bundle/load-bundle.js';
import type { ReconstructionManifest } from '../bundle/manifest.js';
import { registerProvider } from '../network/backend.fixture.js';
import { ComputeDevice } from '../network/compute-device.js';
import { Tensor } from '../network/onnxruntime.js';
import { localSessions, openEncoder } from '../network/session.js';
import { openReconstructor } from '../reconstructor.js';
import { temporaryFolder } from '../temporary-folder.fixture.js';

const models = join(import.meta.dirname, '../../../../models');

const folder = temporaryFolder(afterAll);
let ball: Bundle<ReconstructionManifest>;
let runs = 0;
beforeAll(async () => {
  ball = bundleOfKind(await loadBundle(await writeBallBundle(folder, 'ball', { kind: 'points' })), 'reconstruction');
  registerProvider('fails-later', async (run) => {
    if (++runs > 1) throw new Error('device lost');
    return run();
  });
  registerProvider('fails-immediately', () => Promise.reject(new Error('device lost')));
  registerProvider('blank', async (run) =>
    Object.fromEntries(
      Object.entries(await run()).map(([name, value]) => [
        name,
        new Tensor('float32', new Float32Array(value.size), value.dims),
      ]),
    ),
  );
});

const cutout = { image: { width: 32, height: 32, data: new Uint8Array(4 * 32 * 32).fill(180) } };

async function densities(device: ComputeDevice): Promise<number[]> {
  const reconstructor = await openReconstructor(ball, localSessions({ device }));
  const field = await reconstructor.reconstruct(cutout);
  const density = new Float32Array(3);
  await field.evaluate(Float32Array.from([0, 0, 0, 0.3, 0.2, 0.1, 0.8, 0.8, 0.8]), density);
  await reconstructor.release();
  return [...density];
}

test.each(['fails-immediately', 'fails-later', 'blank'])(
  'if a device %s, the CPU finishes the job, with one warning',
  async (provider) => {
    const warnings: string[] = [];
    const device = new ComputeDevice(provider, (message) => warnings.push(message));
    const expected = await densities(new ComputeDevice());
    expect(await densities(device)).toEqual(expected);
    expect(device.provider).toBe('cpu');
    // The next photo and the next network run on the CPU without another warning.
    expect(await densities(device)).toEqual(expected);
    expect(warnings).toEqual([
      expect.stringMatching(new RegExp(`^The device ${provider} failed, .* run on the CPU from now on.*(lost|empty)`)),
    ]);
  },
);

test('a provider that cannot be loaded is replaced by the CPU in the same way', async () => {
  const warnings: string[] = [];
  const device = new ComputeDevice('no-such-provider', (message) => warnings.push(message));
  expect(await densities(device)).toEqual(await densities(new ComputeDevice()));
  expect(warnings).toEqual([expect.stringContaining('no-such-provider')]);
});

test('an error that is due to the photo does not replace the device', async () => {
  registerProvider('working', (run) => run());
  const warnings: string[] = [];
  const device = new ComputeDevice('working', (message) => warnings.push(message));
  const base = bundleOfKind(await findBundle('gen3d-base', [models]), 'reconstruction');
  const session = await openEncoder(base, localSessions({ device, threads: 1 }));
  const wrongSize = { image: { shape: [1, 4, 32, 32], data: new Float32Array(4 * 32 * 32) } };
  await expect(session.run(wrongSize)).rejects.toMatchObject({ code: 'inference_failed' });
  await session.release();
  expect(device.provider).toBe('working');
  expect(warnings).toEqual([]);
});

test('running out of memory is not an EngineError, so another attempt is made', async () => {
  let text = '';
  registerProvider('full', () => Promise.reject(new Error(text)));
  for (text of [
    'std::bad_alloc',
    'CUDA failure 2: out of memory ; GPU=0 ; hostname=gpu-1 ; file=allocator.cc',
    'Failed to allocate memory for requested buffer of size 1048576',
  ]) {
    const error = await densities(new ComputeDevice('full')).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Error);
    expect(error).not.toBeInstanceOf(EngineError);
    expect(String(error)).toContain(text);
  }
});

test('without onWarning, a failure is thrown', async () => {
  const device = new ComputeDevice('fails-immediately');
  await expect(densities(device)).rejects.toMatchObject({
    code: 'inference_failed',
    cause: { message: expect.stringContaining('device lost') },
  });
});
