import { describe, expect, test } from 'vitest';
import { sphere } from '../../engine/src/render/shapes.fixture.js';
import type { ModelPart } from '../src/index.js';
import { checkPrint, describePrint } from '../src/print-check.js';
import { part } from './part.js';

type Vector = readonly [number, number, number];
const quads = [
  [0, 2, 3, 1],
  [4, 5, 7, 6],
  [0, 1, 5, 4],
  [2, 6, 7, 3],
  [0, 4, 6, 2],
  [1, 3, 7, 5],
] as const;

/** A box with Z up. Bits 0, 1 and 2 of a corner's number are its ends along x, y and z. */
function box([width, depth, height]: Vector, [x, y, z]: Vector = [0, 0, 0]): ModelPart {
  const corners = [0, 1, 2, 3, 4, 5, 6, 7].flatMap((n) => [
    x + (n & 1) * width,
    y + ((n >> 1) & 1) * depth,
    z + (n >> 2) * height,
  ]);
  return part(
    corners,
    quads.flatMap(([a, b, c, d]) => [a, b, c, a, c, d]),
  );
}
const insideOut = (one: ModelPart): ModelPart => ({ ...one, indices: one.indices.slice().reverse() });
const check = (...parts: ModelPart[]) => checkPrint({ parts }, 'z');

const good = { closed: true, pieces: 1, overhangs: 0, thin: 0 };

describe('the print check', () => {
  test('finds nothing wrong with a cube, and measures it', () => {
    expect(check(box([20, 20, 20]))).toEqual({ ...good, volume: expect.closeTo(8, 9) });
    expect(describePrint(check(box([20, 20, 20])))).toBe(
      'Print check: closed, 8 cm³; one piece; overhangs: none; walls thinner than 0.8 mm: none.',
    );
  });

  test('finds the part of the surface with walls thinner than 0.8 mm', () => {
    expect(check(box([40, 0.9, 40])).thin).toBe(0);
    const plate = check(box([40, 0.7, 40]));
    expect(plate.thin).toBeCloseTo((2 * 40 * 40) / (2 * 40 * 40 + 4 * 40 * 0.7), 2);
    expect(describePrint(plate)).toContain('walls thinner than 0.8 mm: 97 % of the surface, so print it larger.');
    // The plate on a block is a fifth of the surface.
    const both = check(box([20, 20, 20]), box([20, 0.5, 14.3], [0, 40, 0]));
    expect(both.thin).toBeCloseTo(572 / (2400 + 572 + 34.3), 2);
  });

  test('counts pieces that only touch at an edge or a corner as separate', () => {
    const cube = box([20, 20, 20]);
    expect(check(cube, box([20, 20, 20], [20, 20, 0]))).toMatchObject({ closed: true, pieces: 2 });
    expect(check(cube, box([20, 20, 20], [20, 20, 20])).pieces).toBe(2);
    // A face that has collapsed to an edge is no piece.
    expect(check(cube, { ...cube, indices: Uint32Array.of(0, 1, 1) }).pieces).toBe(1);
  });

  test('measures walls on both sides of a hollow', () => {
    const hollow = (wall: number) =>
      check(box([20, 20, 20]), insideOut(box([20 - 2 * wall, 20 - 2 * wall, 20 - 2 * wall], [wall, wall, wall])));
    expect(hollow(1)).toMatchObject({
      closed: true,
      pieces: 1,
      volume: expect.closeTo(8 - 18 ** 3 / 1000, 4),
      thin: 0,
    });
    expect(hollow(0.5).thin).toBeGreaterThan(0.9);
  });

  test('counts pieces, also those that two parts of a model make up', () => {
    expect(check(box([20, 20, 20]), box([10, 10, 10], [30, 0, 0]))).toEqual({
      ...good,
      pieces: 2,
      volume: expect.closeTo(9, 9),
    });
    const { positions, indices } = box([20, 20, 20]);
    const halves = [indices.slice(0, 18), indices.slice(18)].map((half) => part([...positions], [...half]));
    expect(check(...halves)).toEqual({ ...good, volume: expect.closeTo(8, 9) });
  });

  test('finds a hole, and then gives no volume', () => {
    const cube = box([20, 20, 20]);
    const open = check({ ...cube, indices: cube.indices.slice(0, -3) });
    expect(open).toMatchObject({ closed: false, pieces: 1, volume: undefined });
    expect(describePrint(open)).toMatch(/^Print check: not closed, so a slicer has to repair it; one piece;/);
  });

  test('counts faces over 45° from vertical that do not lie on the bed as overhangs', () => {
    // Of a sphere, the cap below 45°, without the little that is on the bed.
    const { positions, indices } = sphere(30, 90);
    const ball = part(
      Array.from(positions, (value) => Math.round(value * 1e4) / 1e4),
      [...indices],
    );
    const upright = checkPrint({ parts: [ball] }, 'y');
    expect(upright).toMatchObject({ closed: true, pieces: 1, thin: 0 });
    expect(upright.overhangs).toBeCloseTo((1 - Math.SQRT1_2) / 2 - 0.2 / 60, 2);
    expect(upright.volume).toBeCloseTo((4 / 3) * Math.PI * 27, 0);
    // A table's underside. Its legs stand on the bed.
    const table = check(box([30, 30, 5], [0, 0, 20]), box([5, 5, 20], [5, 5, 0]), box([5, 5, 20], [20, 20, 0]));
    expect(table.overhangs).toBeCloseTo(900 / (2 * 900 + 600 + 2 * (2 * 25 + 400)), 9);
    // A wedge at exactly 45° needs no supports.
    const slope = box([20, 20, 20]);
    expect(
      check({
        ...slope,
        positions: slope.positions.map((value, at) => (at >= 12 && at % 3 === 0 ? value + 20 : value)),
      }).overhangs,
    ).toBe(0);
  });
});
