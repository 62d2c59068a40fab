import { expect, test } from 'vitest';
import { sampleGrid } from './field/sample-grid.js';
import { fieldOf } from './field/test-fields.fixture.js';
import { fitCamera } from './fit-camera.js';
import { paintCutout } from './photo/cutout.fixture.js';
import { rasterize } from './render/rasterize.js';
import { photoView } from './render/view.js';
import { marchingCubes } from './surface/marching-cubes.js';

const degree = Math.PI / 180;

/** A low table in upright space: a plate on one leg, wider than deep. */
const table = fieldOf((x, y, z) => {
  const top = Math.min(0.5 - Math.abs(x), 0.05 - Math.abs(y - 0.2), 0.3 - Math.abs(z));
  const leg = Math.min(0.08 - Math.hypot(x - 0.1, z), 0.45 - Math.abs(y));
  return Math.max(top, leg);
});

/** The table's outline in a camera of 40 degrees that looks down by `pitch` and is aimed to the side. */
async function photographed(pitch: number) {
  const { positions, indices } = marchingCubes(await sampleGrid(table, 72), table.threshold);
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

const withoutCamera = () => {
  const { camera: _, ...field } = table;
  return field;
};

test.each([0, 12, 35])('finds a camera that looked down by %i degrees', async (pitch) => {
  const cutout = await photographed(pitch * degree);
  const { camera, elevation } = await fitCamera(withoutCamera(), cutout);
  expect(Math.abs(elevation!.radians / degree - pitch)).toBeLessThan(4);
  expect(Math.abs(camera.distance - 2.4)).toBeLessThan(0.12);
});

test('returns the field in the space of that camera: its outline is the photo’s', async () => {
  const cutout = await photographed(30 * degree);
  const field = await fitCamera(withoutCamera(), cutout);
  const mesh = marchingCubes(await sampleGrid(field, 96), field.threshold);
  const { depth } = rasterize(mesh, photoView(field.camera, 256));
  let [both, either] = [0, 0];
  for (let i = 0; i < depth.length; i++) {
    const [seen, wanted] = [depth[i]! < Infinity, cutout.image.data[4 * i + 3]! > 127];
    if (seen && wanted) both++;
    if (seen || wanted) either++;
  }
  expect(both / either).toBeGreaterThan(0.93);
});

test('uses the pitch that the reconstructor estimates, and evaluates colors in the field’s own space', async () => {
  const cutout = await photographed(30 * degree);
  const evaluated: number[] = [];
  const field = await fitCamera(
    {
      ...withoutCamera(),
      elevation: { radians: 0.4, spreadRadians: 0.1 },
      evaluateColors: async (points) => {
        evaluated.push(...points);
      },
    },
    cutout,
  );
  expect(field.elevation!.radians).toBe(0.4);
  const top = new Float32Array([0, Math.cos(0.4), Math.sin(0.4)]);
  await field.evaluateColors!(top, new Float32Array(3));
  const middle = [...evaluated];
  await field.evaluateColors!(new Float32Array(3), new Float32Array(3));
  // A step up along the object's own axis, whatever the shift.
  const step = middle.map((value, i) => value - evaluated[3 + i]!);
  for (const [axis, value] of [0, 1, 0].entries()) expect(step[axis]).toBeCloseTo(value, 5);
});

test('gives a field without a surface a camera that shows its box', async () => {
  const nothing = fieldOf(() => -1);
  const field = await fitCamera(nothing, await photographed(0));
  expect(field.camera.distance).toBeGreaterThan(1);
});
