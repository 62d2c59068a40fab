import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WebIO } from '@gltf-transform/core';
import validator from 'gltf-validator';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { RgbaImage } from './base/image.js';
import type { TexturedMesh } from './base/mesh.js';
import { writeBallBundle } from './bundle/bundle.fixture.js';
import { Engine } from './engine.js';
import { readGlb } from './gltf/read-glb.fixture.js';

const models = join(import.meta.dirname, '../../../models');

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gen3d-dropped-in-'));
});
afterAll(() => rm(folder, { recursive: true }));

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
