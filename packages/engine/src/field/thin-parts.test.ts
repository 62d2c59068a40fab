import { expect, test } from 'vitest';
import { sampleSquare } from '../base/interpolation.js';
import { signedDistance } from './distance-transform.js';
import { widenThinParts } from './thin-parts.js';

const size = 256;

/** Draws the matte of a shape, given how far inside it a position is. All are in pixels, from the top left corner. */
const draw = (distanceInside: (x: number, y: number) => number): Float32Array =>
  Float32Array.from({ length: size * size }, (_, i) =>
    Math.min(Math.max(0.5 + distanceInside((i % size) + 0.5, Math.floor(i / size) + 0.5), 0), 1),
  );

const ball = (x: number, y: number) => 40 - Math.hypot(x - 128, y - 180);
/** A wire from the top of the ball, `width` pixels wide. It leans, so it crosses each row at a different offset. */
const wire = (width: number) => (x: number, y: number) =>
  y > 30 && y < 145 ? width / 2 - Math.abs(x - 128 - (145 - y) / 3) * Math.cos(Math.atan(1 / 3)) : -1;

/** Returns the share of the grid's rows between the ball and the wire's end that have a sample inside the outline. */
function sampledRows(outline: Float32Array): number {
  const rows = Array.from({ length: 60 }, (_, row) => 35 + row * 1.72);
  const isSampled = (y: number) =>
    Array.from({ length: 128 }, (_, column) => 18 + column * 1.72).some(
      (x) => sampleSquare(outline, size, (2 * x) / size - 1, (2 * y) / size - 1) > 0,
    );
  return rows.filter(isSampled).length / rows.length;
}

test.each([0.6, 0.8, 1])('a wire of %s pixels becomes wide enough for every row of the grid', (width) => {
  const matte = draw((x, y) => Math.max(ball(x, y), wire(width)(x, y)));
  const outline = signedDistance(matte, size);
  expect(sampledRows(outline)).toBeLessThan(0.9);
  expect(sampledRows(widenThinParts(outline, matte, size))).toBe(1);
});

test('a thin part does not become wider than the grid needs', () => {
  const matte = draw((x, y) => Math.max(ball(x, y), wire(1)(x, y)));
  const widened = widenThinParts(signedDistance(matte, size), matte, size);
  expect(Math.max(...widened.filter((_, i) => Math.floor(i / size) < 130))).toBeLessThan(1.5);
});

test('an outline without thin parts stays as it is, even with a rough edge', () => {
  const rough = draw((x, y) => ball(x, y) + Math.sin(Math.atan2(y - 180, x - 128) * 50) * 0.8);
  for (const matte of [draw(ball), rough]) {
    const outline = signedDistance(matte, size);
    expect(widenThinParts(outline, matte, size)).toBe(outline);
  }
});

test('haze around the object does not become part of it', () => {
  const matte = draw(ball).map((coverage) => Math.max(coverage, 0.2));
  const outline = signedDistance(matte, size);
  expect(widenThinParts(outline, matte, size)).toBe(outline);
});
