import { expect, test } from 'vitest';
import { fieldOf } from '../field/test-fields.fixture.js';
import { camerasOfCompleted } from './keep-completed.js';
import { prepareView } from './prepared-view.js';
import { type Shape, take, tower, toy } from './sides.fixture.js';
import { rotationOf, type ViewCamera } from './view-camera.js';

const degree = Math.PI / 180;

/** A view of a shape from an angle in degrees, from a camera that is turned by another angle. */
function viewOf(shape: Shape, side: 'front' | 'left', yaw: number, foundYaw: number) {
  const { cutout, photoWidth, prediction } = take(shape, side, yaw, 0);
  const relief = { reliefOffset: 0, reliefScale: 1, tiltU: 0, tiltV: 0 };
  const camera: ViewCamera = {
    ...{ rotation: rotationOf(foundYaw * degree, 0, 0), x: 0, y: 0, distance: 2, halfTangent: 0.3 },
    ...relief,
  };
  return { view: prepareView(cutout, photoWidth, prediction), camera };
}

const completed = { ...fieldOf(toy), camera: { distance: 2, halfTangent: 0.3 } };
const front = viewOf(toy, 'front', 0, 0);

test('a solid that another outline agrees with stays, and the camera is moved to fit it', {
  timeout: 60_000,
}, async () => {
  const cameras = await camerasOfCompleted(completed, [front, viewOf(toy, 'left', -90, -84)]);
  const { rotation } = cameras![1]!;
  expect(Math.abs(Math.atan2(rotation[6]!, rotation[8]!) / degree + 90)).toBeLessThan(4);
});

test('a solid that another outline contradicts does not stay', { timeout: 60_000 }, async () => {
  expect(await camerasOfCompleted(completed, [front, viewOf(tower, 'left', -90, -90)])).toBeUndefined();
});
