import { expect, test } from 'vitest';
import type { Side, SidePhoto } from './read-set.mjs';
import { cameraErrors } from './side-figures.mjs';

const view = (yawDegrees: number, elevationDegrees: number) => ({
  photo: 'photo.webp',
  view: { yawDegrees, elevationDegrees, fovDegrees: 40, cameraToObject: [] },
});
const truth: Record<Side, SidePhoto> = {
  front: view(30, 10),
  left: view(-70, 20),
  back: view(-160, 20),
  right: view(125, 20),
};
const found = (side: Side, yawDegrees: number, elevationDegrees: number, used = true) => ({
  side,
  used,
  yawRadians: (yawDegrees * Math.PI) / 180,
  elevationRadians: (elevationDegrees * Math.PI) / 180,
});

test('turns count from the front photo and the short way around', () => {
  // The true turns are -100, -190 and 95 degrees.
  const errors = cameraErrors(
    [found('front', 5, 10), found('left', -90, 17), found('back', 180, 20), found('right', 90, 24)],
    truth,
  );
  expect(errors.map(({ side }) => side)).toEqual(['left', 'back', 'right']);
  for (const [index, [yaw, elevation]] of [
    [5, 3],
    [5, 0],
    [10, 4],
  ].entries()) {
    expect(errors[index]!.yawDegrees).toBeCloseTo(yaw!, 6);
    expect(errors[index]!.elevationDegrees).toBeCloseTo(elevation!, 6);
  }
});

test('photos that were left out are marked, and a model without further photos has no errors', () => {
  const [left] = cameraErrors([found('front', 0, 10), found('left', -100, 20, false)], truth);
  expect(left!.used).toBe(false);
  expect(cameraErrors([found('front', 0, 10)], truth)).toEqual([]);
  expect(cameraErrors([], truth)).toEqual([]);
});
