import { expect, test } from 'vitest';
import { fieldOf } from '../field/test-fields.fixture.js';
import { keepCompleted } from './keep-completed.js';
import { tower, toy, union, viewFrom } from './sides.fixture.js';

const completed = { ...fieldOf(toy), camera: { distance: 2, halfTangent: 0.3 } };
const front = viewFrom(toy, 'front', 0);

test('a solid that another outline agrees with stays, and the camera is moved to fit it', {
  timeout: 60_000,
}, async () => {
  const kept = await keepCompleted(completed, [front, viewFrom(toy, 'left', -90, -84)]);
  const { rotation } = kept!.cameras[1]!;
  expect(Math.abs(Math.atan2(rotation[6]!, rotation[8]!) * (180 / Math.PI) + 90)).toBeLessThan(4);
});

test('a solid that another outline contradicts does not stay', { timeout: 60_000 }, async () => {
  expect(await keepCompleted(completed, [front, viewFrom(tower, 'left', -90)])).toBeUndefined();
});

test('a part that only another photo shows is added', { timeout: 60_000 }, async () => {
  const hidden = [0, 0.11, -0.3] as const;
  const withBump = union(toy, (x, y, z) => 0.08 - Math.hypot(x - hidden[0], y - hidden[1], z - hidden[2]));
  const views = [front, viewFrom(withBump, 'left', -90)];
  const { field } = (await keepCompleted(completed, views))!;
  const [before, after] = [new Float32Array(1), new Float32Array(1)];
  await completed.evaluate(Float32Array.from(hidden), before);
  await field.evaluate(Float32Array.from(hidden), after);
  expect(before[0]).toBeLessThan(0);
  expect(after[0]).toBeGreaterThan(0);
});
