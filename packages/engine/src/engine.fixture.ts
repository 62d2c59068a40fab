import { join } from 'node:path';
import { WebIO } from '@gltf-transform/core';
import validator from 'gltf-validator';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { RgbaImage } from './base/image.js';
import { writeBallBundle } from './bundle/bundle.fixture.js';
import { Engine, type GenerateOptions } from './engine.js';
import { readGlb } from './gltf/read-glb.fixture.js';
import { welded } from './surface/topology.fixture.js';
import { nonManifoldVertices } from './surface/topology.js';

export const models = join(import.meta.dirname, '../../../models');
export const engineOptions = { matte: 'isnet', device: 'cpu', modelDirs: [models] } as const;

/** A cutout of a striped vase, wide at the bottom to distinguish up from down. */
export const vase = () =>
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

export const gray = 0x90;

/** A cutout of a gray ball. */
export const grayBall = () =>
  sharp(
    Buffer.from(
      '<svg xmlns="http://www.w3.org/2000/svg" width="400" height="400"><circle cx="200" cy="200" r="190" fill="#909090"/></svg>',
    ),
  )
    .png()
    .toBuffer();

/** Writes a bundle without colors or a camera to `folder`, and makes a model of the gray ball with it. */
export async function modelWithoutColors(folder: string, modelDirs: readonly string[]) {
  const options = { kind: 'planes', decoder: { color: undefined }, manifest: { camera: undefined } } as const;
  await writeBallBundle(folder, 'shape', options);
  const engine = await Engine.open({ ...engineOptions, bundle: 'shape', modelDirs });
  onTestFinished(() => engine.close());
  const { glb } = await engine.generate(await grayBall(), { resolution: 64, textureSize: 256 });
  const { asset } = (await new WebIO().binaryToJSON(glb)).json;
  const bundles = (asset.extras!.bundles as { name: string }[]).map(({ name }) => name);
  return { bundles, texture: (await readGlb(glb)).baseColor };
}

/** Returns the largest difference between a gray and a texture's color channels. */
export const farthestFrom = (gray: number, { data }: RgbaImage): number =>
  data.reduce((max, value, i) => (i % 4 === 3 ? max : Math.max(max, Math.abs(value - gray))), 0);

/** Tests what every bundle has to do, by making a model of the vase. */
export function describeEngine(bundle: string, settings: GenerateOptions): void {
  describe(`the engine with ${bundle}`, () => {
    let engine: Engine;
    let generated: Awaited<ReturnType<Engine['generate']>>;
    const progress: number[] = [];
    beforeAll(async () => {
      engine = await Engine.open({ ...engineOptions, bundle, device: 'auto' });
      generated = await engine.generate(await vase(), {
        ...settings,
        onProgress: (fraction) => progress.push(fraction),
      });
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

    test('reports increasing progress, up to 1', () => {
      expect(progress).toEqual([...progress].sort((a, b) => a - b));
      expect(progress.at(-1)).toBe(1);
    });
  });
}
