import { copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import validator from 'gltf-validator';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { writeFlowModel } from '../../weights/src/skeleton/flow-model.fixture.js';
import { BundleError } from './base/errors.js';
import type { TexturedMesh } from './base/mesh.js';
import { writeBallBundle } from './bundle/bundle.fixture.js';
import type { Device } from './device/adapter.js';
import { findBundles, openDevice } from './device/engine-device.js';
import {
  describeEngine,
  engineOptions,
  farthestFrom,
  gray,
  grayBall,
  models,
  modelWithoutColors,
  vase,
} from './engine.fixture.js';
import { Engine } from './engine.js';
import { readGlb } from './gltf/read-glb.fixture.js';
import { temporaryFolder } from './temporary-folder.fixture.js';

const folder = temporaryFolder(afterAll);

const small = { resolution: 32, textureSize: 256 };
const onWhite = async () =>
  sharp(await vase())
    .flatten({ background: 'white' })
    .toBuffer();

describeEngine('inflate', { resolution: 96, textureSize: 512 });

test('without the matting package, cutouts become models, and other photos fail with a fix', async () => {
  await writeBallBundle(folder, 'ball', { kind: 'planes' });
  const engine = await Engine.open({ ...engineOptions, bundle: 'ball', modelDirs: [folder] });
  onTestFinished(() => engine.close());
  expect((await engine.generate(await vase(), small)).stats.triangles).toBeGreaterThan(100);
  await expect(engine.generate(await onWhite(), small)).rejects.toMatchObject({
    code: 'inference_failed',
    message: expect.stringContaining('`npm install @gen3d/model-isnet` adds it'),
  });
});

test('a missing matting bundle that is not one of our packages prevents the start', async () => {
  await expect(Engine.open({ ...engineOptions, bundle: 'gen3d-base', matte: 'u2net' })).rejects.toThrow(
    'No bundle called u2net',
  );
});

test('an unknown bundle, a bundle of the wrong kind and an unusable device are errors with a reason', async () => {
  await expect(Engine.open({ ...engineOptions, bundle: 'no-such' })).rejects.toThrow(BundleError);
  await expect(Engine.open({ ...engineOptions, bundle: 'isnet' })).rejects.toThrow(/isnet/);
  const absent = process.platform === 'win32' ? 'coreml' : 'dml';
  await expect(Engine.open({ ...engineOptions, bundle: 'inflate', device: absent })).rejects.toThrow(
    /has no (coreml|dml)/,
  );
});

describe.each(['points', 'planes'] as const)('a bundle with a %s decoder in a folder of bundles', (kind) => {
  let engine: Engine;
  let mesh: TexturedMesh;
  let glb: Uint8Array;
  let colorAt: (vertex: number) => number[];
  beforeAll(async () => {
    await writeBallBundle(folder, `ball-${kind}`, { kind, radius: 0.58 });
    engine = await Engine.open({ ...engineOptions, bundle: `ball-${kind}`, modelDirs: [folder, models] });
    ({ glb } = await engine.generate(await grayBall(), { resolution: 64, textureSize: 512 }));
    const read = await readGlb(glb);
    mesh = read.mesh;
    colorAt = (vertex) => {
      const { width, height, data } = read.baseColor;
      const [column, row] = [mesh.uvs[2 * vertex]! * width, mesh.uvs[2 * vertex + 1]! * height].map(Math.floor);
      return [...data.subarray(4 * (row! * width + column!), 4 * (row! * width + column!) + 3)];
    };
  });
  afterAll(() => engine.close());

  test("makes a GLB without a message from Khronos's validator", async () => {
    const { issues } = await validator.validateBytes(glb);
    expect(issues.messages).toEqual([]);
  });

  test('makes the shape of its decoder: a ball', () => {
    for (let i = 0; i < mesh.positions.length; i += 3) {
      const [x, y, z] = mesh.positions.subarray(i, i + 3) as unknown as [number, number, number];
      expect(Math.abs(Math.hypot(x, y - 0.5, z) - 0.5)).toBeLessThan(0.02);
    }
  });

  test('has the photo on the visible side and the decoder’s colors on the far side', () => {
    const vertices = Array.from({ length: mesh.positions.length / 3 }, (_, vertex) => vertex);
    const nearest = (x: number, y: number, z: number) => {
      const distance = (v: number) =>
        Math.hypot(mesh.positions[3 * v]! - x, mesh.positions[3 * v + 1]! - y, mesh.positions[3 * v + 2]! - z);
      return vertices.reduce((best, v) => (distance(v) < distance(best) ? v : best));
    };
    for (const channel of colorAt(nearest(0, 0.5, 0.5))) expect(Math.abs(channel - gray)).toBeLessThan(8);
    // Behind the ball the box's x, which is red, is at -0.58 of ±0.87; y and z, green and blue, are in the middle.
    const [red, green, blue] = colorAt(nearest(0, 0.5, -0.5)) as [number, number, number];
    expect(Math.abs(red - 255 * (0.5 - 0.29 / 0.87))).toBeLessThan(25);
    expect(Math.abs(green - 128)).toBeLessThan(25);
    expect(Math.abs(blue - 128)).toBeLessThan(25);
  });
});

test('a half-installed background remover stops only the photos that need it', async () => {
  const halfInstalled = join(folder, 'half-installed');
  await mkdir(join(halfInstalled, 'isnet'), { recursive: true });
  await copyFile(join(models, 'isnet', 'manifest.json'), join(halfInstalled, 'isnet', 'manifest.json'));
  await writeBallBundle(folder, 'ball', { kind: 'planes' });
  const ball = { ...engineOptions, bundle: 'ball', modelDirs: [halfInstalled, folder, models] };
  const engine = await Engine.open(ball);
  onTestFinished(() => engine.close());
  expect((await engine.generate(await vase(), small)).glb.length).toBeGreaterThan(1_000);
  const error = await engine.generate(await onWhite(), small).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'inference_failed', cause: expect.any(BundleError) });
  expect((error as Error).message).toMatch(/no usable background remover is installed\. Send .* restart the server\.$/);
  // A name that no package has is a typing error.
  await expect(Engine.open({ ...ball, matte: 'isnett' })).rejects.toThrow(/No bundle called isnett/);
});

test('a bundle that cannot use photos of other sides makes the model of the front, and warns of each other photo', async () => {
  const engine = await Engine.open({ ...engineOptions, bundle: 'inflate' });
  onTestFinished(() => engine.close());
  const [front, ball] = [await vase(), await grayBall()];
  const alone = await engine.generate(front, small);
  const photos = [
    { photo: ball, side: 'right' },
    { photo: front, side: 'front' },
    { photo: ball, side: 'back' },
  ] as const;
  const { glb, stats } = await engine.generate(photos, small);
  expect(stats.warnings).toEqual(['photo_not_used_right', 'photo_not_used_back']);
  const [made, expected] = [await readGlb(glb), await readGlb(alone.glb)];
  expect(made).toEqual(expected);
});

test('a bundle without colors is colored by the photo alone if gen3d-base is not installed', async () => {
  const { bundles, texture } = await modelWithoutColors(folder, [folder]);
  expect(bundles).toEqual(['shape']);
  expect(farthestFrom(gray, texture)).toBeLessThan(8);
});

describe('the device of a flow model', () => {
  beforeAll(() => writeFlowModel(folder));

  const open = async (device: Device) => {
    const options = { bundle: 'flow-model', matte: 'isnet', device, modelDirs: [folder, models] };
    return openDevice(await findBundles(options), options);
  };

  test('for a flow model, the CPU must be named, and is chosen with an estimate', async () => {
    const { chosen } = await open('cpu');
    expect(chosen.provider).toBe('cpu');
    expect(chosen.expectedSeconds).toBeGreaterThan(0);
  });

  test('for a flow model, auto chooses a GPU, or fails with the reasons and the estimate', {
    tags: 'slow',
  }, async () => {
    const result = await open('auto').catch((error: unknown) => error);
    if (result instanceof Error) {
      expect(result).toBeInstanceOf(BundleError);
      expect(result.message).toMatch(
        /^flow-model needs a GPU, and none can be used here \(cuda: .+\)\. On this CPU, a photo would take about \d+ (seconds|minutes); `--device cpu` runs it anyway$/s,
      );
    } else {
      expect(result).not.toMatchObject({ chosen: { provider: 'cpu' } });
    }
  });
});
