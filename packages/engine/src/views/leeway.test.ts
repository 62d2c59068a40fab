import { expect, test } from 'vitest';
import { type FusedView, fusedDensity } from './fuse.js';
import { correctionSize } from './give-way.js';
import { leewayOf } from './leeway.js';
import { prepareView } from './prepared-view.js';
import { take, union } from './sides.fixture.js';
import { rotationOf } from './view-camera.js';

/** A top on one leg, which is far to the right. */
const table = union(
  (x, y, z) => Math.min(0.4 - Math.abs(x), 0.05 - Math.abs(y - 0.2), 0.2 - Math.abs(z)),
  (x, y, z) => Math.min(0.03 - Math.abs(x - 0.3), 0.3 - Math.abs(y + 0.1), 0.03 - Math.abs(z)),
);

/** A view of the table, from a camera that is off by `y` in its own frame. */
function viewAt(side: 'front' | 'left', yawDegrees: number, y: number): FusedView {
  const { cutout, photoWidth, prediction } = take(table, side, yawDegrees, 0);
  const rotation = rotationOf((yawDegrees * Math.PI) / 180, 0, 0);
  const relief = { reliefOffset: 0, reliefScale: 1, tiltU: 0, tiltV: 0 };
  return {
    view: prepareView(cutout, photoWidth, prediction),
    camera: { ...{ rotation, x: 0, y, distance: 2, halfTangent: 0.3 }, ...relief },
    ...{ correction: new Float32Array(correctionSize * correctionSize), slack: 0.003 },
  };
}

const inLeg = [0.3, -0.35, 0] as const;

test('a leg that a photo with a wrong camera carves away is kept as the front shows it', { timeout: 60_000 }, () => {
  const views = [viewAt('front', 0, 0), viewAt('left', -90, -0.12)];
  const carved = fusedDensity(views, new Float32Array(correctionSize * correctionSize));
  expect(carved(...inLeg)).toBeLessThan(0);
  expect(fusedDensity(views, leewayOf(views))(...inLeg)).toBeGreaterThan(0);
  // Far behind the front, they still carve.
  const givenWay = fusedDensity(views, new Float32Array(correctionSize * correctionSize).fill(0.3));
  expect(givenWay(0.3, -0.35, -0.05)).toBeGreaterThan(0);
  expect(givenWay(0.3, -0.35, -0.15)).toBeLessThan(0);
});

test('photos that agree with the front do not give way', { timeout: 60_000 }, () => {
  const leeway = leewayOf([viewAt('front', 0, 0), viewAt('left', -90, 0)]);
  expect(leeway.filter((value) => value > 0).length).toBeLessThan(0.05 * leeway.length);
});
