import { expect, test } from 'vitest';
import { visibleShare } from './visibility.js';

// The left two columns see something at depth 1, the others nothing.
const map = { width: 4, height: 3, depth: Float32Array.from({ length: 12 }, (_, i) => (i % 4 < 2 ? 1 : Infinity)) };

test('a point behind what the view saw is hidden, one in front of it or beside it is seen', () => {
  expect(visibleShare(map, 1, 1.5, 2)).toBe(0);
  expect(visibleShare(map, 1, 1.5, 0.5)).toBe(1);
  expect(visibleShare(map, 3, 1.5, 2)).toBe(1);
});

test('across an edge visibility rises over one pixel instead of stepping', () => {
  expect(visibleShare(map, 1.75, 1.5, 2)).toBeCloseTo(0.25, 6);
  expect(visibleShare(map, 2.25, 1.5, 2)).toBeCloseTo(0.75, 6);
});

test('outside the picture nothing is in the way', () => {
  expect(visibleShare(map, -5, 1.5, 2)).toBe(1);
  expect(visibleShare(map, 1, 99, 2)).toBe(1);
  expect(visibleShare(map, Number.NaN, 1, 2)).toBe(1);
});
