import { describe, expect, test } from 'vitest';
import type { Box } from '../base/box.js';
import { completeRevolution, type Density, type View } from './revolution.js';

const bounds: Box = { min: [-0.5, -0.7, -0.6], max: [0.5, 0.7, 0.6] };
const elevation = 0.2;
const slope = 30;

/** Turns upright coordinates into those of a camera that looks down by `elevation`. */
const seenFromAbove =
  (upright: Density): Density =>
  (x, y, z) =>
    upright(x, y * Math.cos(elevation) + z * Math.sin(elevation), z * Math.cos(elevation) - y * Math.sin(elevation));

const vaseRadius = (height: number) => 0.22 + 0.08 * Math.cos(6 * height);
const vase: Density = (x, y, z) => slope * Math.min(vaseRadius(y) - Math.hypot(x, z), 0.5 - Math.abs(y));
const box: Density = (x, y, z) => slope * Math.min(0.25 - Math.abs(x), 0.25 - Math.abs(z), 0.5 - Math.abs(y));
/** The density that a network returns for an object whose far side is not visible: cut off behind the middle. */
const withFlatBack =
  (density: Density): Density =>
  (x, y, z) =>
    Math.min(density(x, y, z), slope * (z + 0.05));

/** A camera so far away that its rays are nearly parallel. The frame is 1.2 wide. */
const distance = 100;
const halfTangent = 0.6 / distance;

const viewOf = (density: Density): View => ({
  camera: { distance, halfTangent },
  outline: (u: number, v: number) => {
    let highest = -Infinity;
    for (let z = -0.6; z <= 0.6; z += 0.02) highest = Math.max(highest, density(0.6 * u, -0.6 * v, z));
    return highest;
  },
  distanceInside: () => Number.NaN,
  area: 0.4,
});

const complete = (density: Density, outline: Density = density) =>
  completeRevolution(density, viewOf(outline), bounds, elevation);

/** The camera's coordinates of a point in upright ones. */
const camera = (x: number, y: number, z: number): [number, number, number] => [
  x,
  y * Math.cos(elevation) - z * Math.sin(elevation),
  z * Math.cos(elevation) + y * Math.sin(elevation),
];

describe('a solid of revolution', () => {
  const known = seenFromAbove(vase);
  const predicted = seenFromAbove(withFlatBack(vase));
  const completed = complete(predicted, known);

  test.each([-0.3, 0, 0.3])('gets its round far side from the visible one, at height %d', (height) => {
    const radius = vaseRadius(height);
    for (const degrees of [150, 180, 210]) {
      const angle = (degrees * Math.PI) / 180;
      const at = (share: number) => camera(share * radius * Math.sin(angle), height, share * radius * Math.cos(angle));
      expect(predicted(...at(0.85))).toBeLessThan(0);
      expect(completed(...at(0.85))).toBeGreaterThan(0);
      expect(completed(...at(1.15))).toBeLessThan(0);
    }
  });

  test('keeps the side that the photo shows', () => {
    for (const degrees of [-80, -40, 0, 40, 80]) {
      const angle = (degrees * Math.PI) / 180;
      for (const radius of [0.1, 0.2, 0.25, 0.3, 0.4]) {
        const point = camera(radius * Math.sin(angle), 0.1, radius * Math.cos(angle));
        expect(completed(...point)).toBe(predicted(...point));
      }
    }
  });

  test.each([
    {
      where: 'at its side',
      middle: [0.28, 0],
      radius: 0.12,
      points: [
        [0.4, 0, -0.03],
        [0.4, 0, -0.06],
      ],
    },
    {
      where: 'above it',
      middle: [0, 0.5],
      radius: 0.15,
      points: [
        [0, 0.65, -0.05],
        [0.1, 0.61, -0.05],
      ],
    },
  ])('keeps a handle $where, even behind the axis', ({ middle, radius, points }) => {
    const handle: Density = (x, y, z) =>
      slope * Math.min(0.04 - Math.abs(z + 0.04), 0.04 - Math.abs(Math.hypot(x - middle[0]!, y - middle[1]!) - radius));
    const withHandle = (body: Density) => seenFromAbove((x, y, z) => Math.max(body(x, y, z), handle(x, y, z)));
    const jug = complete(withHandle(withFlatBack(vase)), withHandle(vase));
    for (const [x, y, z] of points) expect(jug(...camera(x!, y!, z!))).toBeGreaterThan(0);
    expect(jug(...camera(0, 0, -0.24))).toBeGreaterThan(0);
  });
});

test('a box stays as it is, even if its base is square', () => {
  const predicted = seenFromAbove(withFlatBack(box));
  expect(complete(predicted, seenFromAbove(box))).toBe(predicted);
});
