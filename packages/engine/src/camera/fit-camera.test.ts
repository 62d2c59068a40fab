import { expect, test } from 'vitest';
import type { Cutout } from '../base/image.js';
import type { DensityField } from '../field/density-field.js';
import { sampleGrid } from '../field/sample-grid.js';
import { fieldOf } from '../field/test-fields.fixture.js';
import { paintCutout } from '../photo/cutout.fixture.js';
import { rasterize } from '../render/rasterize.js';
import { photoView } from '../render/view.js';
import { marchingCubes } from '../surface/marching-cubes.js';
import { fitCamera } from './fit-camera.js';

const degree = Math.PI / 180;

/** A low table in upright space: a plate on one leg, wider than deep. */
const table = fieldOf((x, y, z) => {
  const top = Math.min(0.5 - Math.abs(x), 0.05 - Math.abs(y - 0.2), 0.3 - Math.abs(z));
  const leg = Math.min(0.08 - Math.hypot(x - 0.1, z), 0.45 - Math.abs(y));
  return Math.max(top, leg);
});

/** A chair with its back at -Z, and an armrest on one side. */
const chair = fieldOf((x, y, z) => {
  const seat = Math.min(0.3 - Math.abs(x), 0.06 - Math.abs(y), 0.3 - Math.abs(z));
  const back = Math.min(0.3 - Math.abs(x), 0.25 - Math.abs(y - 0.2), 0.06 - Math.abs(z + 0.27));
  const armrest = Math.min(0.05 - Math.abs(x - 0.27), 0.15 - Math.abs(y - 0.1), 0.25 - Math.abs(z));
  const foot = Math.min(0.08 - Math.hypot(x, z), 0.4 - Math.abs(y));
  return Math.max(seat, back, armrest, Math.min(foot, -y));
});

/** The outline of a field in a camera of 40 degrees that looks down by `pitch` and is aimed to the side. */
async function photographed(pitch: number, field = table) {
  const { positions, indices } = marchingCubes(await sampleGrid(field, 72), field.threshold);
  const [sin, cos] = [Math.sin(pitch), Math.cos(pitch)];
  const seen = positions.slice();
  for (let i = 0; i < seen.length; i += 3) {
    seen[i]! += 0.1;
    seen[i + 1] = cos * positions[i + 1]! - sin * positions[i + 2]! - 0.05;
    seen[i + 2] = sin * positions[i + 1]! + cos * positions[i + 2]!;
  }
  const camera = { distance: 2.4, halfTangent: Math.tan(20 * degree) };
  const { depth } = rasterize({ positions: seen, indices }, photoView(camera, 256));
  const covered = (u: number, v: number) =>
    depth[Math.floor((v / 2 + 0.5) * 256) * 256 + Math.floor((u / 2 + 0.5) * 256)]! < Infinity;
  return paintCutout(256, (u, v) => [128, 128, 128, covered(u, v) ? 255 : 0]);
}

const withoutCamera = (field = table) => {
  const { camera: _, ...others } = field;
  return others;
};

/** The field of an object that is turned by `yaw` to its right, as seen by a camera that walked around it to its left. */
const turned = (field: DensityField, yaw: number): DensityField => {
  const [sin, cos] = [Math.sin(yaw), Math.cos(yaw)];
  const evaluate = (points: Float32Array, density: Float32Array) => {
    const back = points.slice();
    for (let i = 0; i < points.length; i += 3) {
      back[i] = cos * points[i]! + sin * points[i + 2]!;
      back[i + 2] = cos * points[i + 2]! - sin * points[i]!;
    }
    return field.evaluate(back, density);
  };
  return { ...field, evaluate };
};

test.each([0, 12, 35])('finds a camera that looked down by %i degrees', async (pitch) => {
  const cutout = await photographed(pitch * degree);
  const { camera, elevation } = await fitCamera(withoutCamera(), cutout, { upright: true, anyYaw: false });
  expect(Math.abs(elevation!.radians / degree - pitch)).toBeLessThan(4);
  expect(Math.abs(camera.distance - 2.4)).toBeLessThan(0.12);
});

test('returns the field in the space of that camera: its outline is the photo’s', async () => {
  const cutout = await photographed(30 * degree);
  const field = await fitCamera(withoutCamera(), cutout, { upright: true, anyYaw: false });
  const mesh = marchingCubes(await sampleGrid(field, 96), field.threshold);
  const { depth } = rasterize(mesh, photoView(field.camera, 256));
  expect(overlap(depth, cutout)).toBeGreaterThan(0.93);
});

/** Intersection over union of a view's outline and the cutout's. */
function overlap(depth: Float32Array, { image }: Cutout): number {
  let [both, either] = [0, 0];
  for (let i = 0; i < depth.length; i++) {
    const [seen, wanted] = [depth[i]! < Infinity, image.data[4 * i + 3]! > 127];
    if (seen && wanted) both++;
    if (seen || wanted) either++;
  }
  return both / either;
}

test('uses the pitch that the reconstructor estimates, and evaluates colors in the field’s own space', async () => {
  const cutout = await photographed(30 * degree);
  const evaluated: number[] = [];
  const field = await fitCamera(
    {
      ...withoutCamera(),
      elevation: { radians: 0.4, spreadRadians: 0.1 },
      evaluateColors: async (points) => {
        evaluated.splice(0, Infinity, ...points);
      },
    },
    cutout,
    { upright: true, anyYaw: false },
  );
  expect(field.elevation!.radians).toBe(0.4);
  const top = new Float32Array([0, Math.cos(0.4), Math.sin(0.4)]);
  await field.evaluateColors!(top, new Float32Array(3));
  const middle = [...evaluated];
  await field.evaluateColors!(new Float32Array(3), new Float32Array(3));
  // A step up along the object's own axis, whatever the shift.
  const step = middle.map((value, i) => value - evaluated[i]!);
  for (const [axis, value] of [0, 1, 0].entries()) expect(step[axis]).toBeCloseTo(value, 5);
});

test.each([-140, -50, 75, 170])('finds a camera anywhere around the object, at %i degrees', async (yaw) => {
  const cutout = await photographed(20 * degree, turned(chair, yaw * degree));
  const field = await fitCamera(withoutCamera(chair), cutout, { upright: true, anyYaw: true });
  expect(Math.abs(field.elevation!.radians / degree - 20)).toBeLessThan(4);
  const found = marchingCubes(await sampleGrid(field, 96), field.threshold);
  const { depth } = rasterize(found, photoView(field.camera, 256));
  expect(overlap(depth, cutout)).toBeGreaterThan(0.93);
});

test('a guide tells the front from the back where the outline cannot', async () => {
  // A level camera at the side of a box whose ends look alike, of which one is hollow.
  const box = fieldOf((x, y, z) => {
    const block = Math.min(0.3 - Math.abs(x), 0.2 - Math.abs(y), 0.4 - Math.abs(z));
    const hollow = Math.min(0.22 - Math.abs(x), 0.12 - Math.abs(y), z - 0.1);
    return Math.min(block, -hollow);
  });
  for (const yaw of [0, 180]) {
    const seen = turned(box, yaw * degree);
    const cutout = await photographed(0, seen);
    const guide: DensityField = {
      ...seen,
      bounds: { min: [-0.5, -0.5, -0.5], max: [0.7, 0.5, 0.5] },
      camera: { distance: 2.4, halfTangent: Math.tan(20 * degree) },
      evaluate: (points, density) =>
        seen.evaluate(
          points.map((value, i) => value - [0.1, -0.05, 0][i % 3]!),
          density,
        ),
    };
    const field = await fitCamera(withoutCamera(box), cutout, { upright: true, anyYaw: true, guide });
    const inside = new Float32Array(1);
    await field.evaluate(new Float32Array([0.1, -0.05, 0.3]), inside);
    // The hollow faces the camera at 0 degrees only.
    expect(inside[0]! > 0).toBe(yaw === 180);
  }
});

test('gives a field without a surface a camera that shows its box', async () => {
  const nothing = fieldOf(() => -1);
  const field = await fitCamera(nothing, await photographed(0), { upright: true, anyYaw: false });
  expect(field.camera.distance).toBeGreaterThan(1);
});
