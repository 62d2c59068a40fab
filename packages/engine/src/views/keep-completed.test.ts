import { expect, test } from 'vitest';
import { fieldOf } from '../field/test-fields.fixture.js';
import { bendViews } from './bend.js';
import { fusedField } from './fuse.js';
import { keepCuboid, keepRevolution } from './keep-completed.js';
import { block, type Shape, tower, toy, union, viewFrom } from './sides.fixture.js';

const completed = { ...fieldOf(toy), camera: { distance: 2, halfTangent: 0.3 } };
const front = viewFrom(toy, 'front', 0);

test('a solid that another outline agrees with stays, and the camera is moved to fit it', {
  timeout: 60_000,
}, async () => {
  const kept = await keepRevolution(completed, [front, viewFrom(toy, 'left', -90, -84)]);
  const { rotation } = kept!.cameras[1]!;
  expect(Math.abs(Math.atan2(rotation[6]!, rotation[8]!) * (180 / Math.PI) + 90)).toBeLessThan(4);
});

test('a solid that another outline contradicts does not stay', { timeout: 60_000 }, async () => {
  expect(await keepRevolution(completed, [front, viewFrom(tower, 'left', -90)])).toBeUndefined();
});

test('a cuboid gets its depth and a knob at its back from the other photos', { timeout: 60_000 }, async () => {
  const crate = block(0, 0.05, 0, 0.3, 0.2, 0.2);
  const withKnob = union(crate, block(0.25, 0.05, -0.22, 0.04, 0.04, 0.08));
  const [sin, cos] = [Math.sin(0.5), Math.cos(0.5)];
  const turned =
    (shape: Shape): Shape =>
    (x, y, z) =>
      shape(x * cos - z * sin, y, z * cos + x * sin);
  const placed = [
    viewFrom(turned(crate), 'front', 0),
    viewFrom(turned(withKnob), 'left', -90),
    viewFrom(turned(withKnob), 'back', 180),
  ];
  const { field } = (await keepCuboid(fusedField(bendViews(placed), 0), placed))!;
  const densityAt = async (x: number, y: number, z: number) => {
    const values = new Float32Array(1);
    await field.evaluate(Float32Array.of(x * cos + z * sin, y, z * cos - x * sin), values);
    return values[0]!;
  };
  for (const z of [-0.17, 0, 0.17]) expect(await densityAt(0, 0.05, z)).toBeGreaterThan(0);
  for (const z of [-0.24, 0.24]) expect(await densityAt(0, 0.05, z)).toBeLessThan(0);
  expect(await densityAt(0.25, 0.05, -0.26)).toBeGreaterThan(0);
});
