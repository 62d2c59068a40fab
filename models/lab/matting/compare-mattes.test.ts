import { expect, test } from 'vitest';
import { compareMattes } from './compare-mattes.mjs';

const [width, height] = [120, 100];

/** A matte of a rectangle. */
function rectangle(left: number, top: number, right: number, bottom: number, coverage = 255) {
  const data = new Uint8Array(width * height);
  for (let y = top; y < bottom; y++) data.fill(coverage, y * width + left, y * width + right);
  return { width, height, data };
}
const truth = rectangle(30, 30, 90, 70);

test('the true matte has an overlap of 1 and no error', () => {
  expect(compareMattes(truth, truth)).toEqual({ iou: 1, edgeError: 0 });
});

test('a matte of half of the object has an overlap of one half', () => {
  expect(compareMattes(rectangle(30, 30, 60, 70), truth).iou).toBe(0.5);
});

test('an empty matte has no overlap, and misses the half of the band that is inside', () => {
  const { iou, edgeError } = compareMattes(rectangle(0, 0, 0, 0), truth);
  expect(iou).toBe(0);
  expect(edgeError).toBeCloseTo(0.5, 1);
});

test('errors far from the edge do not count as errors of the edge', () => {
  const hole = rectangle(30, 30, 90, 70);
  for (let y = 45; y < 55; y++) hole.data.fill(0, y * width + 45, y * width + 75);
  const { iou, edgeError } = compareMattes(hole, truth);
  expect(iou).toBeCloseTo(1 - 300 / 2400);
  expect(edgeError).toBe(0);
});

test('an edge that is off by one pixel has an eighth of the error of a band of eight pixels', () => {
  expect(compareMattes(rectangle(31, 31, 91, 71), truth).edgeError).toBeCloseTo(1 / 8, 1);
});
