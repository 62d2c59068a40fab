import { copyFile, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WebIO } from '@gltf-transform/core';
import validator from 'gltf-validator';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { writeFlowModel } from '../../weights/src/skeleton/flow-model.fixture.js';
import { BundleError } from './base/errors.js';
import type { RgbaImage } from './base/image.js';
import type { TexturedMesh } from './base/mesh.js';
import { writeBallBundle } from './bundle/bundle.fixture.js';
import type { Device } from './device/adapter.js';
import { Engine } from './engine.js';
import { findBundles, openDevice } from './engine-device.js';
import { readGlb } from './gltf/read-glb.fixture.js';
import { welded } from './surface/topology.fixture.js';
import { nonManifoldVertices } from './surface/topology.js';

const models = join(import.meta.dirname, '../../../models');
const options = { matte: 'isnet', device: 'cpu', modelDirs: [models] } as const;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gen3d-engine-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** A cutout of a striped vase, wide at the bottom to distinguish up from down. */
const vase = () =>
  sharp(
    Buffer.from(
      `<svg xmlns="http://www.w3.org/2000/svg" width="400" height="600">
         <path d="M150 40 h100 v120 q110 120 90 380 h-280 q-20 -260 90 -380 z" fill="#2a7fb8"/>
         <path d="M70 380 h260 v40 h-260 z" fill="#f0c040"/>
       </svg>`,
    ),
  )
    .png()
    .toBuffer();

describe.each([
  ['inflate', { resolution: 96, textureSize: 512 }],
  ['gen3d-base', {}],
])('the engine with %s', (bundle, settings) => {
  let engine: Engine;
  let generated: Awaited<ReturnType<Engine['generate']>>;
  const progress: number[] = [];
  beforeAll(async () => {
    engine = await Engine.open({ ...options, bundle, device: 'auto' });
    generated = await engine.generate(await vase(), { ...settings, onProgress: (fraction) => progress.push(fraction) });
  });
  afterAll(() => engine.close());

  test("makes a GLB without a message from Khronos's validator", async () => {
    const { issues } = await validator.validateBytes(generated.glb);
    expect(issues.messages).toEqual([]);
    expect(generated.glb.byteLength).toBeLessThan(4 * 1024 * 1024);
  });

  test('makes a surface without holes: every edge has exactly two triangles', async () => {
    const { mesh } = await readGlb(generated.glb);
    expect(nonManifoldVertices(welded(mesh))).toHaveLength(0);
    expect(mesh.indices.length / 3).toBe(generated.stats.triangles);
  });

  test('makes a model that stands on y = 0, one meter long, wide end down, with its photographed side to +Z', async () => {
    const { mesh, baseColor } = await readGlb(generated.glb);
    const [heights, widths] = [1, 0].map((axis) => mesh.positions.filter((_, i) => i % 3 === axis)) as [
      Float32Array,
      Float32Array,
    ];
    expect(heights.reduce((a, b) => Math.min(a, b))).toBeCloseTo(0);
    expect(heights.reduce((a, b) => Math.max(a, b))).toBeGreaterThan(0.9);
    const widthAround = (height: number) =>
      widths.reduce((max, x, i) => (Math.abs(heights[i]! - height) < 0.08 ? Math.max(max, 2 * Math.abs(x)) : max), 0);
    expect(widthAround(0.25)).toBeGreaterThan(1.5 * widthAround(0.9));

    // The stripe is a quarter up on the front, and yellow.
    const yellow = mesh.normals.reduce((count, nz, i) => {
      if (i % 3 !== 2 || nz < 0.8) return count;
      const vertex = (i - 2) / 3;
      const column = Math.floor(mesh.uvs[2 * vertex]! * (baseColor.width - 1));
      const row = Math.floor(mesh.uvs[2 * vertex + 1]! * (baseColor.height - 1));
      const [red, , blue] = baseColor.data.subarray(4 * (row * baseColor.width + column));
      return count + (red! > 180 && blue! < 110 ? 1 : 0);
    }, 0);
    expect(yellow).toBeGreaterThan(20);
  });

  test('makes a thumbnail of 512 x 512 pixels', async () => {
    const { format, width, height } = await sharp(generated.thumbnail).metadata();
    expect({ format, width, height }).toEqual({ format: 'jpeg', width: 512, height: 512 });
  });

  test('reports increasing progress, up to 1', () => {
    expect(progress).toEqual([...progress].sort((a, b) => a - b));
    expect(progress.at(-1)).toBe(1);
  });

  test('stops between stages when it is aborted', async () => {
    const abort = new AbortController();
    const onProgress = () => abort.abort(new Error('enough'));
    await expect(engine.generate(await vase(), { onProgress, signal: abort.signal })).rejects.toThrow('enough');
  });

  test('fails with no_foreground for an image without a visible pixel', async () => {
    const empty = await sharp({ create: { width: 300, height: 300, channels: 4, background: '#0000' } })
      .png()
      .toBuffer();
    await expect(engine.generate(empty)).rejects.toMatchObject({ code: 'no_foreground' });
  });
});

test('a real photograph with a background becomes a closed, valid model', { timeout: 120_000 }, async () => {
  const engine = await Engine.open({ ...options, bundle: 'gen3d-base' });
  const coffee = await readFile(join(import.meta.dirname, 'photo/fixtures/coffee.jpg'));
  const { glb } = await engine.generate(coffee, { resolution: 96, textureSize: 512 });
  await engine.close();
  const { issues } = await validator.validateBytes(glb);
  expect(issues.messages).toEqual([]);
  expect(nonManifoldVertices(welded((await readGlb(glb)).mesh))).toHaveLength(0);
});

test('without the matting package, cutouts become models, and other photos fail with a fix', async () => {
  const engine = await Engine.open({ ...options, bundle: 'gen3d-base', modelDirs: [join(models, 'gen3d-base')] });
  expect((await engine.generate(await vase(), { resolution: 64 })).stats.triangles).toBeGreaterThan(100);
  const photo = await readFile(join(import.meta.dirname, 'photo/fixtures/coffee.jpg'));
  await expect(engine.generate(photo)).rejects.toMatchObject({
    code: 'inference_failed',
    message: expect.stringContaining('`npm install @gen3d/model-isnet` adds it'),
  });
  await engine.close();
});

test('a missing matting bundle that is not one of our packages prevents the start', async () => {
  await expect(Engine.open({ ...options, bundle: 'gen3d-base', matte: 'u2net' })).rejects.toThrow(
    'No bundle called u2net',
  );
});

test('an unknown bundle, a bundle of the wrong kind and an unusable device are errors with a reason', async () => {
  await expect(Engine.open({ ...options, bundle: 'no-such' })).rejects.toThrow(BundleError);
  await expect(Engine.open({ ...options, bundle: 'isnet' })).rejects.toThrow(/isnet/);
  const absent = process.platform === 'win32' ? 'coreml' : 'dml';
  await expect(Engine.open({ ...options, bundle: 'inflate', device: absent })).rejects.toThrow(/has no (coreml|dml)/);
});

/** A cutout of a gray ball. */
const photo = () =>
  sharp(
    Buffer.from(
      '<svg xmlns="http://www.w3.org/2000/svg" width="400" height="400"><circle cx="200" cy="200" r="190" fill="#909090"/></svg>',
    ),
  )
    .png()
    .toBuffer();

describe.each(['points', 'planes'] as const)('a bundle with a %s decoder in a folder of bundles', (kind) => {
  let engine: Engine;
  let mesh: TexturedMesh;
  let glb: Uint8Array;
  let colorAt: (vertex: number) => number[];
  beforeAll(async () => {
    await writeBallBundle(folder, `ball-${kind}`, { kind, radius: 0.58 });
    engine = await Engine.open({
      bundle: `ball-${kind}`,
      matte: 'isnet',
      device: 'cpu',
      modelDirs: [folder, models],
    });
    ({ glb } = await engine.generate(await photo(), { resolution: 64, textureSize: 512 }));
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
    for (const channel of colorAt(nearest(0, 0.5, 0.5))) expect(Math.abs(channel - 0x90)).toBeLessThan(8);
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
  const engine = await Engine.open({ ...options, bundle: 'gen3d-base', modelDirs: [halfInstalled, models] });
  onTestFinished(() => engine.close());
  const small = { resolution: 32, textureSize: 256 };
  expect((await engine.generate(await vase(), small)).glb.length).toBeGreaterThan(1_000);
  const onWhite = await sharp(await vase())
    .flatten({ background: 'white' })
    .toBuffer();
  const error = await engine.generate(onWhite, small).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'inference_failed', cause: expect.any(BundleError) });
  expect((error as Error).message).toMatch(/no usable background remover is installed\. Send .* restart the server\.$/);
  // A name that no package has is a typing error.
  await expect(Engine.open({ ...options, bundle: 'gen3d-base', matte: 'isnett' })).rejects.toThrow(
    /No bundle called isnett/,
  );
});

describe('a bundle without colors and without a camera', () => {
  /** The bundles that the GLB names, and the colors of its texture. */
  async function made(modelDirs: readonly string[]) {
    await writeBallBundle(folder, 'shape', {
      kind: 'planes',
      decoder: { color: undefined },
      manifest: { camera: undefined },
    });
    const engine = await Engine.open({ bundle: 'shape', matte: 'isnet', device: 'cpu', modelDirs });
    onTestFinished(() => engine.close());
    const { glb } = await engine.generate(await photo(), { resolution: 64, textureSize: 256 });
    const { asset } = (await new WebIO().binaryToJSON(glb)).json;
    return { bundles: asset.extras!.bundles as { name: string }[], texture: (await readGlb(glb)).baseColor };
  }
  const farthestFromGray = ({ data }: RgbaImage) =>
    data.reduce((max, value, i) => (i % 4 === 3 ? max : Math.max(max, Math.abs(value - 0x90))), 0);

  test('takes the colors of the far side from gen3d-base, which the GLB then names, too', async () => {
    const { bundles, texture } = await made([folder, models]);
    expect(bundles.map(({ name }) => name)).toEqual(['shape', 'gen3d-base']);
    expect(farthestFromGray(texture)).toBeGreaterThan(0);
    expect(farthestFromGray(texture)).toBeLessThan(60);
  });

  test('is colored by the photo alone if gen3d-base is not installed', async () => {
    const { bundles, texture } = await made([folder]);
    expect(bundles.map(({ name }) => name)).toEqual(['shape']);
    expect(farthestFromGray(texture)).toBeLessThan(8);
  });
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
});
