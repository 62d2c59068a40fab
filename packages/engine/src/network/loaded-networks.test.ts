import { afterAll, beforeAll, expect, test } from 'vitest';
import { writeFlowModel } from '../../../weights/src/skeleton/flow-model.fixture.js';
import { type Bundle, loadBundle } from '../bundle/load-bundle.js';
import { openSteps, type StepsManifest } from '../flow/steps.js';
import { temporaryFolder } from '../temporary-folder.fixture.js';
import { registerProvider } from './backend.fixture.js';
import { ComputeDevice } from './compute-device.js';
import { Tensor } from './onnxruntime.js';
import { localSessions } from './session.js';

const folder = temporaryFolder(afterAll);
let bundle: Bundle<StepsManifest>;
beforeAll(async () => {
  bundle = (await loadBundle(await writeFlowModel(folder))) as Bundle<StepsManifest>;
});

/** A provider with memory for `capacity` networks, and how many it has held. */
function registerSmall(name: string, capacity: number) {
  const memory = { now: 0, max: 0, loads: 0 };
  registerProvider(
    name,
    async (run) => {
      if (memory.now > capacity) throw new Error('Failed to allocate memory for requested buffer of size 4194304');
      return run();
    },
    (change) => {
      memory.now += change;
      memory.max = Math.max(memory.max, memory.now);
      if (change > 0) memory.loads++;
    },
  );
  return memory;
}

/** The field of a gray square, made by all four networks, at some points. */
async function densities(provider: string): Promise<Float32Array> {
  const networks = await openSteps(bundle, localSessions({ device: new ComputeDevice(provider) }));
  const image = { width: 64, height: 64, data: new Uint8Array(4 * 64 * 64).fill(180) };
  const field = await networks.encode({ image });
  const density = new Float32Array(100);
  await field.evaluate(
    Float32Array.from({ length: 300 }, (_, i) => Math.sin(1.7 * i)),
    density,
  );
  await networks.release();
  return density;
}

test('all networks stay in the memory of a device that has room for them', async () => {
  const memory = registerSmall('roomy', 4);
  expect(await densities('roomy')).toEqual(await densities('cpu'));
  expect(memory).toEqual({ now: 0, max: 4, loads: 4 });
});

test('networks make room for each other on a device without enough memory, and the results are the same', async () => {
  const memory = registerSmall('cramped', 1);
  expect(await densities('cramped')).toEqual(await densities('cpu'));
  expect(memory.now).toBe(0);
  // Each is opened and checked first, and three are loaded again when their turn comes.
  expect(memory.loads).toBe(7);
});

test('if a device without memory for one network fails, the error is not about the photo', async () => {
  registerSmall('tiny', 0);
  const running = densities('tiny');
  await expect(running).rejects.toThrow(/flow-model failed on tiny: Failed to allocate memory/);
  await expect(running).rejects.not.toHaveProperty('code');
});

test('if a device fails otherwise, the error is not about the photo either, and the CPU does not take over', async () => {
  registerProvider('lost', () => Promise.reject(new Error('device lost')));
  const running = densities('lost');
  await expect(running).rejects.toThrow('flow-model failed on lost: device lost');
  await expect(running).rejects.not.toHaveProperty('code');
});

test('an output that is all zero, as WebGPU returns when it is out of memory, is an error', async () => {
  registerProvider('zeros', async (run) =>
    Object.fromEntries(
      Object.entries(await run()).map(([name, value]) => [
        name,
        new Tensor('float32', new Float32Array(value.size), value.dims),
      ]),
    ),
  );
  await expect(densities('zeros')).rejects.toThrow(/output "image_tokens" is all zeros\. zeros may be out of memory/);
});
