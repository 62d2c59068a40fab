import { expect, test } from 'vitest';
import type { DensityField } from '../field/density-field.js';
import { fieldOf } from '../field/test-fields.fixture.js';
import { withColorsOf } from './guide-colors.js';

/** Red is the position in the image from left to right, green from bottom to top. */
const guide: DensityField = {
  ...fieldOf(() => 1),
  camera: { distance: 3, halfTangent: 0.2 },
  async evaluateColors(points, colors) {
    for (let p = 0; p < points.length; p += 3) {
      const scale = 1 / ((3 - points[p + 2]!) * 0.2);
      colors.set([0.5 + 0.5 * points[p]! * scale, 0.5 + 0.5 * points[p + 1]! * scale, 0], p);
    }
  },
};

test('a field without colors gets those that the guide has at the same position of the image', async () => {
  const field = { ...fieldOf(() => 1), camera: { distance: 10, halfTangent: 0.5 } };
  const colors = new Float32Array(6);
  // At a depth of 10, half the width of the image is 5; at 8, it is 4.
  await withColorsOf(guide, field).evaluateColors!(new Float32Array([2.5, -5, 0, 2, -4, 2]), colors);
  for (const [i, color] of [0.75, 0, 0, 0.75, 0, 0].entries()) expect(colors[i]).toBeCloseTo(color, 5);
});

test('a field with colors keeps its own', () => {
  const field = { ...fieldOf(() => 1), evaluateColors: async () => {} };
  expect(withColorsOf(guide, field)).toBe(field);
});

test('a guide without colors gives none', () => {
  const { evaluateColors: _, ...colorless } = guide;
  expect(
    withColorsOf(
      colorless,
      fieldOf(() => 1),
    ).evaluateColors,
  ).toBeUndefined();
});
