import { describe, expect, test } from 'vitest';
import { bounds, photographed } from '../photographed.fixture.js';
import { type Density, frontOf } from '../solid.js';
import { findRevolution } from './find-revolution.js';

const elevation = 0.25;
const slope = 30;

/** The density in camera space of an upright one. */
const seenFromAbove =
  (upright: Density, by = elevation): Density =>
  (x, y, z) =>
    upright(x, y * Math.cos(by) + z * Math.sin(by), z * Math.cos(by) - y * Math.sin(by));

/** The camera's coordinates of a point in upright ones. */
const camera = (x: number, y: number, z: number, by = elevation): [number, number, number] => [
  x,
  y * Math.cos(by) - z * Math.sin(by),
  z * Math.cos(by) + y * Math.sin(by),
];

const vaseRadius = (height: number) => 0.24 + 0.07 * Math.cos(6 * height);
const vase: Density = (x, y, z) => slope * Math.min(vaseRadius(y) - Math.hypot(x, z), 0.42 - Math.abs(y));
const mug: Density = (x, y, z) => slope * Math.min(0.3 - Math.hypot(x, z), 0.36 - Math.abs(y));
const inside: Density = (x, y, z) => slope * Math.min(0.25 - Math.hypot(x, z), y + 0.28);
const box: Density = (x, y, z) => slope * Math.min(0.3 - Math.abs(x), 0.3 - Math.abs(z), 0.4 - Math.abs(y));
const handle: Density = (x, y, z) =>
  slope * Math.min(0.04 - Math.abs(z), 0.04 - Math.abs(Math.hypot(x - 0.3, y) - 0.18));
const both =
  (one: Density, other: Density): Density =>
  (...at) =>
    Math.max(one(...at), other(...at));

/** Imitates a network's prediction: cut off behind the middle. */
const withFlatBack =
  (density: Density): Density =>
  (x, y, z) =>
    Math.min(density(x, y, z), slope * (z + 0.05));

function complete(upright: Density, predict: (density: Density) => Density = withFlatBack, by = elevation) {
  const { density, outline } = photographed(seenFromAbove(upright, by));
  const predicted = predict(density);
  const completed = findRevolution(outline, frontOf(predicted, outline, bounds, by));
  return { predicted, completed };
}

describe('a solid of revolution', () => {
  const { predicted, completed } = complete(vase);

  test.each([-0.3, 0, 0.25])('gets its far side from its outline, at height %d', (height) => {
    const radius = vaseRadius(height);
    for (const degrees of [150, 180, 210]) {
      const angle = (degrees * Math.PI) / 180;
      const at = (share: number) => camera(share * radius * Math.sin(angle), height, share * radius * Math.cos(angle));
      expect(predicted(...at(0.85))).toBeLessThan(0);
      expect(completed!.density(...at(0.85))).toBeGreaterThan(0);
      expect(completed!.density(...at(1.15))).toBeLessThan(0);
    }
  });

  test('stands on a flat base, although the photo does not show it', () => {
    const radius = vaseRadius(-0.42);
    for (const share of [-0.7, 0, 0.7]) {
      expect(completed!.density(...camera(0, -0.38, share * radius))).toBeGreaterThan(0);
      expect(completed!.density(...camera(0, -0.47, share * radius))).toBeLessThan(0);
    }
  });

  test('stays in its bounds', () => {
    const { min, max } = completed!.bounds;
    for (const height of [-0.42, 0, 0.42]) {
      for (const angle of [0, 90, 180, 270]) {
        const [side, toward] = [Math.sin((angle * Math.PI) / 180), Math.cos((angle * Math.PI) / 180)];
        camera(vaseRadius(height) * side, height, vaseRadius(height) * toward).forEach((value, axis) => {
          expect(value).toBeGreaterThan(min[axis]!);
          expect(value).toBeLessThan(max[axis]!);
        });
      }
    }
  });
});

test('a bottle in a photo that is 3 degrees off gets its whole far side, and the angle is found', () => {
  const radius = (height: number) => (height > 0.2 ? 0.07 : 0.14);
  const bottle: Density = (x, y, z) => slope * Math.min(radius(y) - Math.hypot(x, z), 0.45 - Math.abs(y));
  const [sin, cos] = [Math.sin(0.055), Math.cos(0.055)];
  const turned: Density = (x, y, z) => seenFromAbove(bottle)(x * cos + y * sin, y * cos - x * sin, z);
  const { density, outline } = photographed(turned);
  const { rollRadians, density: completed } = findRevolution(
    outline,
    frontOf(withFlatBack(density), outline, bounds, elevation),
  )!;
  expect(Math.abs(rollRadians - 0.055)).toBeLessThan(0.012);
  for (const height of [-0.35, 0, 0.35]) {
    const [x, y, z] = camera(0, height, -0.85 * radius(height));
    expect(completed(x * cos - y * sin, x * sin + y * cos, z)).toBeGreaterThan(0);
  }
});

test('a handle stays, and the body behind it is round', () => {
  const { completed } = complete(both(mug, handle));
  expect(completed!.density(...camera(0.48, 0, 0))).toBeGreaterThan(0);
  expect(completed!.density(...camera(0.38, 0, 0))).toBeLessThan(0);
  expect(completed!.density(...camera(0, 0, -0.26))).toBeGreaterThan(0);
});

test('a mug is as hollow as the prediction', () => {
  const hollow: Density = (...at) => Math.min(mug(...at), -inside(...at));
  const { completed } = complete(hollow, (density) => density);
  expect(completed!.density(...camera(0, 0.1, 0))).toBeLessThan(0);
  for (const z of [-0.275, 0.275]) expect(completed!.density(...camera(0, 0.1, z))).toBeGreaterThan(0);
  expect(completed!.density(...camera(0, -0.33, 0))).toBeGreaterThan(0);
  expect(complete(mug).completed!.density(...camera(0, 0.1, 0))).toBeGreaterThan(0);
});

test('a cup on a saucer gets both far sides, and nothing between cup and saucer', () => {
  const fromAbove = 0.75;
  const cup: Density = (x, y, z) => slope * Math.min(0.26 - Math.hypot(x, z), 0.28 - y, y + 0.1);
  const saucer: Density = (x, y, z) => slope * Math.min(0.45 - Math.hypot(x, z), y + 0.14, -0.08 - y);
  const cavity: Density = (x, y, z) => slope * Math.min(0.2 - Math.hypot(x, z), y);
  const upright: Density = (...at) => Math.max(Math.min(cup(...at), -cavity(...at)), saucer(...at));
  // The cup hides its own wall and the middle of the saucer's far side.
  const unseen: Density = (x, _, z) => slope * Math.min(0.27 - Math.abs(x), -0.21 - z);
  const predict =
    (density: Density): Density =>
    (...at) =>
      Math.min(density(...at), -seenFromAbove(unseen, fromAbove)(...at));
  const { predicted, completed } = complete(upright, predict, fromAbove);
  const behind = (height: number, distance: number) => camera(0, height, -distance, fromAbove);
  for (const at of [behind(0.05, 0.23), behind(-0.11, 0.38)]) {
    expect(predicted(...at)).toBeLessThan(0);
    expect(completed!.density(...at)).toBeGreaterThan(0);
  }
  for (const at of [behind(0.05, 0.36), behind(0.15, 0), behind(0.25, 0.1)]) {
    expect(completed!.density(...at)).toBeLessThan(0);
  }
});

test('a dome stays closed where the prediction is empty below its top', () => {
  const ball: Density = (x, y, z) => 0.4 - Math.hypot(x, y + 0.15, z);
  const dome: Density = (...at) => slope * Math.min(ball(...at), at[1] + 0.2);
  const hole: Density = (...at) => slope * Math.min(ball(...at) - 0.06, at[1] + 0.12);
  const { predicted, completed } = complete(
    dome,
    (density) =>
      (...at) =>
        Math.min(density(...at), -seenFromAbove(hole)(...at)),
  );
  for (const height of [0, 0.1, 0.17]) {
    expect(predicted(...camera(0, height, 0))).toBeLessThan(0);
    expect(completed!.density(...camera(0, height, 0))).toBeGreaterThan(0);
  }
});

test('the top of a round table stays closed where the prediction has only the front of its column', () => {
  const disc =
    (radius: number, from: number, to: number): Density =>
    (x, y, z) =>
      slope * Math.min(radius - Math.hypot(x, z), y - from, to - y);
  const table = both(both(disc(0.4, 0.3, 0.4), disc(0.1, -0.35, 0.35)), disc(0.25, -0.4, -0.3));
  const { completed } = complete(table, (density) => (x, y, z) => Math.min(density(x, y, z), slope * (z - 0.06)));
  for (const height of [0, 0.34]) expect(completed!.density(...camera(0, height, 0))).toBeGreaterThan(0);
});

test.each([
  ['from its front', 0],
  ['from an edge', Math.PI / 4],
])('a box stays as it is, seen %s', (_, yaw) => {
  const [cos, sin] = [Math.cos(yaw), Math.sin(yaw)];
  expect(complete((x, y, z) => box(x * cos + z * sin, y, z * cos - x * sin)).completed).toBeUndefined();
});

test('a flat plate with a symmetrical outline stays as it is', () => {
  expect(complete((x, y, z) => Math.min(vase(x, y, 0), slope * (0.05 - Math.abs(z)))).completed).toBeUndefined();
});

test('nothing stays nothing, whatever the outline', () => {
  expect(complete(vase, () => () => -3).completed).toBeUndefined();
  const nowhere: Density = () => -3;
  expect(complete(nowhere).completed).toBeUndefined();
});
