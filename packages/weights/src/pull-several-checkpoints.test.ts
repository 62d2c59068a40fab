import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { findBundle, testBundle, verifyBundle } from '@gen3d/engine';
import { beforeEach, expect, test } from 'vitest';
import { temporaryFolder } from '../../engine/src/temporary-folder.fixture.js';
import { type PullOptions, type PullRequirements, pullBundle } from './pull.js';
import { writeFlowCatalog } from './skeleton/flow-model.fixture.js';
import type { CheckpointOptions } from './source.js';

// A provider that onnxruntime does not have on this system, so the tests mean the same on a machine with a GPU.
const missingDevice = process.platform === 'win32' ? 'coreml' : 'dml';

let pulled: string;
let models: string;
let published: string;

beforeEach(async () => {
  const folder = temporaryFolder();
  pulled = join(folder, 'pulled');
  ({ models, published } = await writeFlowCatalog(folder));
});

const pull = (checkpoint: CheckpointOptions, options: Partial<PullOptions> = {}) =>
  pullBundle('flow-model', {
    directory: pulled,
    modelDirs: [models, pulled],
    check: testBundle,
    device: 'cpu',
    checkpoint: { from: published, ...checkpoint },
    ...options,
  });

test('a folder with the published files becomes a bundle, and files of the right alignment are kept', async () => {
  const bundle = await pull({});
  await verifyBundle(bundle);
  const names = ['image_encoder.safetensors', 'transformer.safetensors', 'vae.safetensors'];
  expect((await readdir(bundle.directory)).filter((name) => name.endsWith('.safetensors')).sort()).toEqual(names);
  expect(bundle.manifest.origin?.furtherCheckpoints?.map(({ name }) => name)).toEqual(names.slice(1));
});

test('in half precision, a separate file replaces each checkpoint', async () => {
  const bundle = await pull({ precision: 'fp16' });
  await verifyBundle(bundle);
  const found = (await readdir(bundle.directory)).filter((name) => /\.(bin|safetensors)$/.test(name));
  expect(found.sort()).toEqual(['image_encoder.bin', 'transformer.bin', 'vae.bin']);
});

test('the disk space includes the new files of a checkpoint that has to be rewritten', async () => {
  const seen: PullRequirements[] = [];
  await pull({}, { onStart: (requirements) => void seen.push(requirements) });
  expect(seen[0]!.disk).toBeGreaterThan(1.9 * seen[0]!.download);
  expect(seen[0]).toMatchObject({ gpuMemory: 2e9, memory: 1e9 });
});

test('a folder without one of the files is refused, and the error names the file', async () => {
  await rm(join(published, 'weights', 'vae.safetensors'));
  await expect(pull({})).rejects.toThrow(/vae\.safetensors cannot be read/);
});

test('without a GPU, it is refused before anything is copied, with the time that a CPU would take', async () => {
  await expect(pull({}, { device: missingDevice })).rejects.toThrow(
    /^A small flow model needs a GPU with 1\.0 GB of memory \(fp16\) or 2\.0 GB \(fp32\), and none can be used here\. With this CPU, a photo would take about \d+ minutes\. To run it anyway, set GEN3D_DEVICE=cpu\. `gen3d doctor` shows the devices of this machine$/,
  );
  await expect(findBundle('flow-model', [pulled])).rejects.toThrow('No bundle called flow-model');
});
