import { describe, expect, test } from 'vitest';
import type { Camera } from '../../../base/camera.js';
import { assumed, bounds, photographed } from '../photographed.fixture.js';
import { type Density, frontOf } from '../solid.js';
import { findCuboid } from './find-cuboid.js';

const slope = 50;
const [yaw, elevation] = [0.5, 0.35];
const half = [0.28, 0.35, 0.2] as const;

/** A camera nearer to the object, with a wider lens. */
const near: Camera = { distance: assumed.distance / 1.4, halfTangent: assumed.halfTangent * 1.4 };

/** Turns coordinates along an object's own axes into those of the camera. */
function toCamera(x: number, y: number, z: number): [number, number, number] {
  const [side, toward] = [Math.cos(yaw) * x + Math.sin(yaw) * z, Math.cos(yaw) * z - Math.sin(yaw) * x];
  const [sin, cos] = [Math.sin(elevation), Math.cos(elevation)];
  return [side, cos * y - sin * toward, cos * toward + sin * y];
}

/** The density in camera space of one along the object's own axes. */
const seen =
  (own: Density): Density =>
  (x, y, z) => {
    const [sin, cos] = [Math.sin(elevation), Math.cos(elevation)];
    const [up, toward] = [cos * y + sin * z, cos * z - sin * y];
    return own(Math.cos(yaw) * x - Math.sin(yaw) * toward, up, Math.cos(yaw) * toward + Math.sin(yaw) * x);
  };

const box: Density = (x, y, z) => slope * Math.min(half[0] - Math.abs(x), half[1] - Math.abs(y), half[2] - Math.abs(z));

/** Imitates a network's prediction of an object: a sheet behind its front. */
const hollow =
  (density: Density): Density =>
  (x, y, z) =>
    Math.min(density(x, y, z), -density(x, y, z + 0.15));

const complete = (own: Density, camera = assumed, predict: (density: Density) => Density = hollow) => {
  const { density, outline } = photographed(seen(own), camera);
  const predicted = predict(density);
  return findCuboid(outline, frontOf(predicted, outline, bounds, elevation));
};

describe('a box', () => {
  const { density, outline } = photographed(seen(box));
  const predicted = hollow(density);
  const front = frontOf(predicted, outline, bounds, elevation);
  const completed = findCuboid(outline, front)!;

  test('gets its far side from its outline', () => {
    for (const sides of [
      [-1, -1, -1],
      [1, -1, -1],
      [-1, 1, -1],
      [-1, -1, 1],
      [1, 1, 1],
    ]) {
      const at = (share: number) =>
        toCamera(share * sides[0]! * half[0], share * sides[1]! * half[1], share * sides[2]! * half[2]);
      expect(completed.density(...at(0.9))).toBeGreaterThan(0);
      expect(completed.density(...at(1.12))).toBeLessThan(0);
    }
    expect(predicted(...toCamera(0, 0, -0.9 * half[2]))).toBeLessThan(0);
  });

  test('stays in its bounds', () => {
    const { min, max } = completed.bounds;
    for (const x of [-1, 1]) {
      for (const y of [-1, 1]) {
        for (const z of [-1, 1]) {
          toCamera(x * half[0], y * half[1], z * half[2]).forEach((value, axis) => {
            expect(value).toBeGreaterThan(min[axis]! - 0.01);
            expect(value).toBeLessThan(max[axis]! + 0.01);
          });
        }
      }
    }
  });

  test('shows from how far above it was photographed', () => {
    const misled = findCuboid(outline, { ...front, elevationRadians: elevation - 0.1 })!;
    expect(misled.elevation.spreadRadians).toBe(0);
    expect(misled.elevation.radians).toBeCloseTo(elevation, 1);
  });

  test('shows by its converging edges how near the camera was', () => {
    expect(completed.camera.halfTangent).toBeLessThan(1.15 * assumed.halfTangent);
    const { camera } = complete(box, near)!;
    expect(camera.halfTangent).toBeGreaterThan(1.25 * assumed.halfTangent);
    expect(camera.distance * camera.halfTangent).toBeCloseTo(assumed.distance * assumed.halfTangent);
  });

  test('keeps a handle that stands out of it', () => {
    const handle: Density = (x, y, z) =>
      slope * Math.min(0.12 - Math.abs(y - 0.42), 0.05 - Math.abs(x), 0.05 - Math.abs(z));
    const withHandle = complete((x, y, z) => Math.max(box(x, y, z), handle(x, y, z)))!;
    expect(withHandle.density(...toCamera(0, 0.5, 0.03))).toBeGreaterThan(0);
    expect(withHandle.density(...toCamera(0.15, 0.5, 0.03))).toBeLessThan(0);
  });
});

test.each([0.01, 0.08])('edges are as round as the outline at its corners: a radius of %d', (radius) => {
  const rounded: Density = (x, y, z) => {
    const beyond = [x, y, z].map((value, axis) => Math.abs(value) - half[axis]! + radius);
    const outside = Math.hypot(...beyond.map((value) => Math.max(value, 0)));
    return slope * (radius - outside - Math.min(0, Math.max(...beyond)));
  };
  const { density } = complete(rounded)!;
  /** How far along a line the surface is, from just outside of the solid. */
  const surface = (at: (inside: number) => [number, number, number]) => {
    let inside = -0.1;
    while (density(...toCamera(...at(inside))) < 0) inside += 0.001;
    return inside;
  };
  const width = half[0] - surface((inside) => [half[0] - inside, 0, 0]);
  const depth = half[2] - surface((inside) => [0, 0, half[2] - inside]);
  const gap = surface((inside) => [width - inside, 0, depth - inside]);
  expect(Math.abs(gap - radius * (1 - Math.SQRT1_2))).toBeLessThan(0.008);
});

test.each<[string, Density]>([
  ['a ball', (x, y, z) => slope * (0.35 - Math.hypot(x, y, z))],
  ['a bun', (x, y, z) => slope * (0.13 - Math.hypot(Math.max(Math.abs(x) - 0.35, 0), y, z))],
  ['a roof', (x, y, z) => slope * Math.min(0.3 - Math.abs(z), 0.35 - Math.abs(x), y + 0.2, 0.3 - y - Math.abs(x))],
  ['an L', (x, y, z) => Math.min(box(x, y, z), slope * Math.max(-y, -x))],
])('%s stays as it is', (_, own) => {
  expect(complete(own)).toBeUndefined();
});

test('nothing stays nothing', () => {
  expect(complete(box, assumed, () => () => -1)).toBeUndefined();
});
