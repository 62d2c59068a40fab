import { expect, test } from 'vitest';
import { fieldOf } from '../field/test-fields.fixture.js';
import { camerasOfCompleted } from './keep-completed.js';
import { tower, toy, viewFrom } from './sides.fixture.js';

const completed = { ...fieldOf(toy), camera: { distance: 2, halfTangent: 0.3 } };
const front = viewFrom(toy, 'front', 0);

test('a solid that another outline agrees with stays, and the camera is moved to fit it', {
  timeout: 60_000,
}, async () => {
  const cameras = await camerasOfCompleted(completed, [front, viewFrom(toy, 'left', -90, -84)]);
  const { rotation } = cameras![1]!;
  expect(Math.abs(Math.atan2(rotation[6]!, rotation[8]!) * (180 / Math.PI) + 90)).toBeLessThan(4);
});

test('a solid that another outline contradicts does not stay', { timeout: 60_000 }, async () => {
  expect(await camerasOfCompleted(completed, [front, viewFrom(tower, 'left', -90)])).toBeUndefined();
});
