import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Cutout } from './base/image.js';
import { type BallOptions, writeBallBundle } from './bundle/bundle.fixture.js';
import { bundleOfKind, loadBundle } from './bundle/load-bundle.js';
import type { DensityField } from './field/density-field.js';
import { densitiesAt, fieldOf } from './field/test-fields.fixture.js';
import { paintCutout } from './photo/cutout.fixture.js';
import { decode } from './photo/decode.js';
import { frame } from './photo/frame.js';
import { matte, openMattingNetwork } from './photo/matte.js';
import { seededRandom } from './random-cases.fixture.js';
import { inflateReconstructor, openReconstructor, type Reconstructor, withColorsOf } from './reconstructor.js';
import { temporaryFolder } from './temporary-folder.fixture.js';

const disc = (radius: number): Cutout => paintCutout(64, (u, v) => [200, 40, 90, Math.hypot(u, v) < radius ? 255 : 0]);

const folder = temporaryFolder(afterAll);

const ballBundle = (kind: 'points' | 'planes') => () => writeBallBundle(folder, kind, { kind });
const inRepository = (path: string) => async () => join(import.meta.dirname, path);
const bundles = [
  { kind: 'columns', directory: inRepository('../../../models/gen3d-base') },
  { kind: 'points', directory: ballBundle('points') },
  { kind: 'planes', directory: ballBundle('planes') },
  { kind: 'steps', directory: inRepository('../fixtures/sphere-and-chair') },
];

/** Random points in the field's box and around it, and whether each is in the box. */
function scattered({ bounds: { min, max } }: DensityField): { points: Float32Array; inBox: boolean[] } {
  const next = seededRandom(1);
  const points = Float32Array.from({ length: 6000 }, (_, i) => {
    const axis = (i % 3) as 0 | 1 | 2;
    return min[axis] + (1.6 * next() - 0.3) * (max[axis] - min[axis]);
  });
  const inBox = Array.from({ length: points.length / 3 }, (_, i) =>
    ([0, 1, 2] as const).every((axis) => points[3 * i + axis]! >= min[axis] && points[3 * i + axis]! <= max[axis]),
  );
  return { points, inBox };
}

describe.each([{ kind: 'inflate', directory: undefined }, ...bundles])('the kind $kind', ({ kind, directory }) => {
  let reconstructor: Reconstructor;
  let field: DensityField;
  beforeAll(async () => {
    reconstructor = directory
      ? await openReconstructor(bundleOfKind(await loadBundle(await directory()), 'reconstruction'))
      : inflateReconstructor;
    field = await reconstructor.reconstruct(disc(0.8));
  });
  afterAll(() => reconstructor.release());

  test('is above the threshold inside the object, below it outside the box, and never NaN', async () => {
    const { min, max } = field.bounds;
    const along = Array.from({ length: 32 }, (_, i) => [0, 0, min[2] + ((i + 0.5) / 32) * (max[2] - min[2])]);
    expect(Math.max(...(await densitiesAt(field, Float32Array.from(along.flat()))))).toBeGreaterThan(field.threshold);
    const { points, inBox } = scattered(field);
    for (const [i, value] of (await densitiesAt(field, points)).entries()) {
      expect(value).not.toBeNaN();
      if (!inBox[i]) expect(value).toBeLessThanOrEqual(field.threshold);
    }
  });

  test('has a camera in front of its box, and colors of 0 to 1 if any', async () => {
    expect(field.camera.distance).toBeGreaterThan(field.bounds.max[2]);
    const { points } = scattered(field);
    const colors = new Float32Array(points.length);
    await field.evaluateColors?.(points, colors);
    for (const value of colors) expect(Math.abs(value - 0.5)).toBeLessThanOrEqual(0.5);
  });

  test('makes the same fields of several cutouts at once as of one after another', async () => {
    const { points } = scattered(field);
    const radii = [0.8, 0.5];
    const expected: Float32Array[] = [];
    for (const radius of radii) {
      expected.push(await densitiesAt(await reconstructor.reconstruct(disc(radius)), points));
    }
    const fields = await Promise.all(radii.map((radius) => reconstructor.reconstruct(disc(radius))));
    for (const [i, found] of fields.entries()) expect(await densitiesAt(found, points)).toEqual(expected[i]);
  });

  test('reports increasing progress up to 1 if it takes steps', async () => {
    const shares: number[] = [];
    await reconstructor.reconstruct(disc(0.8), { onProgress: (share) => shares.push(share) });
    expect(shares).toEqual([...shares].sort((a, b) => a - b));
    expect(shares.at(-1)).toBe(reconstructor.inSteps ? 1 : undefined);
    expect(reconstructor.inSteps).toBe(kind === 'steps');
  });

  test('fails with the reason of an aborted signal', async () => {
    const signal = AbortSignal.abort(new Error('canceled'));
    await expect(reconstructor.reconstruct(disc(0.8), { signal })).rejects.toThrow('canceled');
  });
});

/** The field that a bundle of a ball makes of the photo of a disc. */
async function ballField(options: BallOptions, cutout = disc(0.85)) {
  const bundle = await loadBundle(await writeBallBundle(folder, 'ball', options));
  const reconstructor = await openReconstructor(bundleOfKind(bundle, 'reconstruction'));
  onTestFinished(() => reconstructor.release());
  return reconstructor.reconstruct(cutout);
}

test('the far side of a photographed film camera is completed as that of a cuboid', async () => {
  const models = join(import.meta.dirname, '../../../models');
  const matting = await openMattingNetwork(bundleOfKind(await loadBundle(join(models, 'isnet')), 'matte'));
  onTestFinished(() => matting.release());
  const reconstructor = await openReconstructor(
    bundleOfKind(await loadBundle(join(models, 'gen3d-base')), 'reconstruction'),
  );
  onTestFinished(() => reconstructor.release());
  const photo = await decode(await readFile(join(models, '../examples/photos/film-camera.jpg')));
  const found = await matte(photo, matting.predict);
  const { foregroundRatio } = reconstructor;
  const cutout = frame(photo.image, found.matte, { foregroundRatio, maxSize: 1024 });
  const field = await reconstructor.reconstruct(cutout);
  expect(field.bumpyBehind).toBe(false);
});

test('the camera is the one of the manifest if the outline fits', async () => {
  const { camera } = await ballField({ kind: 'planes', radius: 0.561 });
  expect(camera.distance).toBe(1.9);
  expect(camera.halfTangent).toBeCloseTo(Math.tan(Math.PI / 9));
});

test('without a camera in the manifest, the engine finds one whose view of the box fits the outline', async () => {
  // The ball's outline is a circle of 0.85 of the frame, and its radius 0.5.
  const { camera } = await ballField({ kind: 'planes', manifest: { camera: undefined } });
  expect(camera.distance).toBeCloseTo(0.5 / Math.sin(Math.atan(0.85 * Math.tan(Math.PI / 9))), 1);
});

test('an outline that has nothing to do with the field removes nothing from it', async () => {
  const bar = paintCutout(64, (u, v) => [200, 40, 90, Math.abs(u) < 0.85 && Math.abs(v) < 0.1 ? 255 : 0]);
  const field = await ballField({ kind: 'planes' }, bar);
  expect(field.overlap).toBeLessThan(0.5);
  const { min, max } = field.bounds;
  const n = 40;
  const points = Float32Array.from({ length: 3 * n ** 3 }, (_, i) => {
    const axis = (i % 3) as 0 | 1 | 2;
    const step = Math.floor(Math.floor(i / 3) / n ** axis) % n;
    return min[axis] + ((step + 0.5) / n) * (max[axis] - min[axis]);
  });
  const inside = (await densitiesAt(field, points)).filter((density) => density > field.threshold).length;
  const box = (max[0] - min[0]) * (max[1] - min[1]) * (max[2] - min[2]);
  expect((inside / n ** 3) * box).toBeCloseTo((4 / 3) * Math.PI * 0.5 ** 3, 1.5);
});

/** Red is the position in the image from left to right, green from bottom to top. */
const guide: DensityField = {
  ...fieldOf(() => 1),
  camera: { distance: 3, halfTangent: 0.2 },
  async evaluateColors(points, colors) {
    for (let p = 0; p < points.length; p += 3) {
      const scale = 1 / ((3 - points[p + 2]!) * 0.2);
      colors.set([0.5 + 0.5 * points[p]! * scale, 0.5 + 0.5 * points[p + 1]! * scale, 0], p);
    }
  },
};

test('a field without colors gets those that the guide has at the same position of the image', async () => {
  const field = { ...fieldOf(() => 1), camera: { distance: 10, halfTangent: 0.5 } };
  const colors = new Float32Array(6);
  // At a depth of 10, half the width of the image is 5; at 8, it is 4.
  await withColorsOf(guide, field).evaluateColors!(new Float32Array([2.5, -5, 0, 2, -4, 2]), colors);
  for (const [i, color] of [0.75, 0, 0, 0.75, 0, 0].entries()) expect(colors[i]).toBeCloseTo(color, 5);
});

test('a field with colors keeps its own', () => {
  const field = { ...fieldOf(() => 1), evaluateColors: async () => {} };
  expect(withColorsOf(guide, field)).toBe(field);
});

test('a guide without colors gives none', () => {
  const { evaluateColors: _, ...colorless } = guide;
  expect(
    withColorsOf(
      colorless,
      fieldOf(() => 1),
    ).evaluateColors,
  ).toBeUndefined();
});
