import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { writeFlowModel } from '../../weights/src/skeleton/flow-model.fixture.js';
import { BundleError } from './base/errors.js';
import type { Device } from './device/adapter.js';
import { findBundles, openDevice } from './engine-device.js';

const models = join(import.meta.dirname, '../../../models');

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gen3d-device-'));
  await writeFlowModel(folder);
});
afterAll(() => rm(folder, { recursive: true }));

const open = async (device: Device) => {
  const options = { bundle: 'flow-model', matte: 'isnet', device, modelDirs: [folder, models] };
  return openDevice(await findBundles(options), options);
};

test('for a flow model, the CPU must be named, and is chosen with an estimate', async () => {
  const { chosen } = await open('cpu');
  expect(chosen.provider).toBe('cpu');
  expect(chosen.expectedSeconds).toBeGreaterThan(0);
});

test('for a flow model, auto chooses a GPU, or fails with the reasons and the estimate', async () => {
  const result = await open('auto').catch((error: unknown) => error);
  if (result instanceof Error) {
    expect(result).toBeInstanceOf(BundleError);
    expect(result.message).toMatch(
      /^flow-model needs a GPU, and none can be used here \(cuda: .+\)\. On this CPU, a photo would take about \d+ (seconds|minutes); `--device cpu` runs it anyway$/s,
    );
  } else {
    expect(result).not.toMatchObject({ chosen: { provider: 'cpu' } });
  }
}, 120_000);
