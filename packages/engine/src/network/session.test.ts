import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { BundleError } from '../base/errors.js';
import { type Bundle, bundleOfKind, findBundle } from '../bundle/load-bundle.js';
import type { ReconstructionManifest } from '../bundle/manifest.js';
import { onnxFile } from '../bundle/onnx.fixture.js';
import { temporaryFolder } from '../temporary-folder.fixture.js';
import { localSessions, openEncoder, openSession } from './session.js';

const models = fileURLToPath(new URL('../../../../models', import.meta.url));
const base = async () => bundleOfKind(await findBundle('gen3d-base', [models]), 'reconstruction');

const withInput = (bundle: Bundle<ReconstructionManifest>, input: Partial<ReconstructionManifest['input']>) => ({
  ...bundle,
  manifest: { ...bundle.manifest, input: { ...bundle.manifest.input, ...input } },
});

test('the encoder of gen3d-base gives front depths, occupancies and far-side colors of 128 x 128 columns, and an elevation', async () => {
  const session = await openEncoder(await base(), localSessions({ threads: 1 }));
  const image = new Float32Array(4 * 256 * 256).fill(0.5);
  const outputs = await session.run({ image: { shape: [1, 4, 256, 256], data: image } });
  await session.release();

  expect([...outputs.keys()]).toEqual(['front_depth', 'occupancy', 'back_color', 'elevation']);
  expect(outputs.get('front_depth')).toHaveLength(128 * 128);
  expect(outputs.get('occupancy')).toHaveLength(96 * 128 * 128);
  expect(outputs.get('front_depth')!.every(Number.isFinite)).toBe(true);
});

test('an error names an input that the graph does not have, and those it has', async () => {
  const opening = openEncoder(withInput(await base(), { tensor: 'photo' }));
  await expect(opening).rejects.toThrow(/encoder\.onnx has no input "photo", which its manifest names; it has image/);
});

test('an error names both shapes if one differs from the manifest', async () => {
  const opening = openEncoder(withInput(await base(), { size: 64 }));
  await expect(opening).rejects.toThrow(
    /input "image" has the shape \[1, 4, 256, 256\], its manifest says \[1, 4, 64, 64\]/,
  );
});

test('an error names both shapes if an output that the graph leaves open differs from the manifest', async () => {
  const directory = temporaryFolder();
  const graph = {
    inputs: [{ name: 'image', shape: [1, 3, 'height', 'width'] }],
    outputs: [{ name: 'codes', shape: [1, 3, 'height', 'width'] }],
    nodes: [{ op: 'Identity', inputs: ['image'], outputs: ['codes'] }],
  };
  await writeFile(join(directory, 'open.onnx'), onnxFile(graph));
  const specs = {
    image: [{ name: 'image', shape: [1, 3, 8, 8] }],
    codes: [{ name: 'codes', shape: [1, 3, null, 16] }],
  };
  const session = await openSession({ ...(await base()), directory }, 'open.onnx', specs.image, specs.codes);
  expect(session.shapeOf('codes')).toEqual([1, 3, null, null]);
  const running = session.run({ image: { shape: [1, 3, 8, 8], data: new Float32Array(192) } });
  await expect(running).rejects.toMatchObject({
    cause: {
      message: expect.stringMatching(
        /open\.onnx: output "codes" has the shape \[1, 3, 8, 8\], its manifest says \[1, 3, any, 16\]/,
      ),
    },
  });
  await session.release();
});

test('a graph in half precision is used like any other', async () => {
  const directory = temporaryFolder();
  const half = { shape: [1, 4], type: 'float16' } as const;
  const graph = {
    inputs: [{ name: 'x', ...half }],
    outputs: [{ name: 'twice', ...half }],
    nodes: [{ op: 'Add', inputs: ['x', 'x'], outputs: ['twice'] }],
  };
  await writeFile(join(directory, 'half.onnx'), onnxFile(graph));
  const spec = (name: string) => [{ name, shape: [1, 4] }];
  const session = await openSession({ ...(await base()), directory }, 'half.onnx', spec('x'), spec('twice'));
  const outputs = await session.run({ x: { shape: [1, 4], data: new Float32Array([0.5, -3, 1e-4, 1 / 3]) } });
  await session.release();
  expect([...outputs.get('twice')!].map((value) => value.toPrecision(3))).toEqual([
    '1.00',
    '-6.00',
    '0.000200',
    '0.667',
  ]);
});

test('a file that is not an ONNX graph is a BundleError that names the file', async () => {
  const directory = temporaryFolder();
  await writeFile(join(directory, 'encoder.onnx'), 'not a graph');
  const opening = openSession({ ...(await base()), directory }, 'encoder.onnx', [], []);
  await expect(opening).rejects.toThrow(BundleError);
  await expect(opening).rejects.toThrow(/encoder\.onnx cannot be loaded by onnxruntime/);
});

test('a tensor of the wrong size is inference_failed, not a crash', async () => {
  const session = await openEncoder(await base(), localSessions({ threads: 1 }));
  const running = session.run({ image: { shape: [1, 4, 32, 32], data: new Float32Array(4 * 32 * 32) } });
  await expect(running).rejects.toMatchObject({ name: 'EngineError', code: 'inference_failed' });
  // The message is for the customer. onnxruntime's message is in the cause, for the log.
  await expect(running).rejects.toMatchObject({
    message: 'The network failed on this image.',
    cause: { message: expect.stringMatching(/^gen3d-base failed on cpu: .+/s) },
  });
  await session.release();
});
