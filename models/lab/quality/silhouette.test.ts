import { expect, test } from 'vitest';
import { silhouetteIou } from './silhouette.mjs';
import { sphereModel } from './sphere.mjs';
import { isWatertight } from './watertight.mjs';

const level = { elevationRadians: 0, rollRadians: 0, halfTangent: 0.18, foregroundRatio: 0.86 };
const sphere = sphereModel(photo(() => true)).mesh;

test('a sphere matches a disc anywhere in the photo, and about four fifths of a square', () => {
  const disc = photo((x, y) => Math.hypot(x - 60, y - 130) < 40);
  const square = photo((x, y) => Math.max(Math.abs(x - 100), Math.abs(y - 100)) < 70);
  expect(silhouetteIou(sphere, disc, level)).toBeGreaterThan(0.97);
  expect(silhouetteIou(sphere, square, level)).toBeCloseTo(Math.PI / 4, 1);
});

test('a flat plate seen from above matches an ellipse at the right elevation and roll only', () => {
  const positions = sphere.positions.map((value, i) => (i % 3 === 1 ? value / 100 : value));
  const ellipse = photo((x, y) => Math.hypot((x - 100) / 80, (y - 100) / 40) < 1);
  const tilted = photo((x, y) => Math.hypot((x - y) / 80, (x + y - 200) / 40) < Math.SQRT2);
  const narrow = { rollRadians: 0, halfTangent: 0.02, foregroundRatio: 0.86 };
  const plate = { ...sphere, positions };
  expect(silhouetteIou(plate, ellipse, { ...narrow, elevationRadians: Math.PI / 6 })).toBeGreaterThan(0.95);
  expect(silhouetteIou(plate, ellipse, { ...narrow, elevationRadians: Math.PI / 3 })).toBeLessThan(0.7);
  const above = { ...narrow, elevationRadians: Math.PI / 6 };
  expect(silhouetteIou(plate, tilted, { ...above, rollRadians: Math.PI / 4 })).toBeGreaterThan(0.95);
  expect(silhouetteIou(plate, tilted, above)).toBeLessThan(0.7);
});

test('a mesh is closed if every edge has its opposite, also where vertices are split along a seam', () => {
  expect(isWatertight(sphere)).toBe(true);
  expect(isWatertight({ ...sphere, indices: sphere.indices.slice(3) })).toBe(false);
  const split = { positions: new Float32Array(3 * sphere.indices.length), indices: sphere.indices.map((_, i) => i) };
  sphere.indices.forEach((vertex, i) => {
    split.positions.set(sphere.positions.subarray(3 * vertex, 3 * vertex + 3), 3 * i);
  });
  expect(isWatertight(split)).toBe(true);
});

/** 200 x 200 pixels, opaque where `inside`. */
function photo(inside: (x: number, y: number) => boolean) {
  const [width, height] = [200, 200];
  const data = new Uint8Array(4 * width * height);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++)
      if (inside(x + 0.5, y + 0.5)) data.fill(255, 4 * (y * width + x), 4 * (y * width + x) + 4);
  }
  return { width, height, data };
}
