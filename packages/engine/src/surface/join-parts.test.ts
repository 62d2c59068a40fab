import { describe, expect, it } from 'vitest';
import type { ScalarGrid } from '../base/scalar-grid.js';
import { clean, connectedParts } from './clean.js';
import { joinParts } from './join-parts.js';
import { marchingCubes } from './marching-cubes.js';
import { gridOf } from './shapes.fixture.js';

const camera = { distance: 5, halfTangent: 0.2 };

type Density = (x: number, y: number, z: number) => number;

const block =
  (center: readonly [number, number, number], half: readonly [number, number, number]): Density =>
  (x, y, z) =>
    Math.min(half[0] - Math.abs(x - center[0]), half[1] - Math.abs(y - center[1]), half[2] - Math.abs(z - center[2]));

const union =
  (...shapes: readonly Density[]): Density =>
  (x, y, z) =>
    Math.max(...shapes.map((shape) => shape(x, y, z)));

/** An apron that faces the camera, and a seat behind it. */
const seat = union(block([0, 0.3, 0.6], [0.6, 0.15, 0.06]), block([0, 0.4, 0], [0.6, 0.05, 0.6]));
const legUnder = (top: number) => block([0, top - 0.4, -0.4], [0.08, 0.4, 0.08]);

const parts = (grid: ScalarGrid): number => connectedParts(clean(marchingCubes(grid, 0))).count;

function joined(shape: Density): ScalarGrid {
  const grid = gridOf(81, shape);
  joinParts(grid, clean(marchingCubes(grid, 0)), 0, camera);
  return grid;
}

describe('joinParts', () => {
  it('joins a leg to the seat if the seat hides the gap between them', () => {
    const shape = union(seat, legUnder(0.28));
    expect(parts(gridOf(81, shape))).toBe(2);
    expect(parts(joined(shape))).toBe(1);
  });

  it('joins both pieces of a broken leg, the lower of which is near only to the upper', () => {
    const apron = block([0, -0.1, 0.6], [0.6, 0.55, 0.06]);
    const pieces = [block([0, 0.18, -0.4], [0.08, 0.1, 0.08]), block([0, -0.25, -0.4], [0.08, 0.25, 0.08])];
    const shape = union(apron, block([0, 0.4, 0], [0.6, 0.05, 0.6]), ...pieces);
    expect(parts(gridOf(81, shape))).toBe(3);
    expect(parts(joined(shape))).toBe(1);
  });

  it('does not join a leg that is far from the seat', () => {
    expect(parts(joined(union(seat, legUnder(0.15))))).toBe(2);
  });

  it('keeps parts separate if the gap between them is visible', () => {
    const sides = [block([-0.3, 0, 0], [0.25, 0.3, 0.2]), block([0.3, 0, 0], [0.28, 0.3, 0.2])];
    expect(parts(joined(union(...sides)))).toBe(2);
  });

  it('adds nothing that the camera sees above or below a bar in front of the gap', () => {
    const sides = [block([-0.4, 0, 0], [0.35, 0.4, 0.1]), block([0.3, 0, 0], [0.25, 0.3, 0.1])];
    const bar = [block([-0.1, 0, 0.4], [0.3, 0.03, 0.03]), block([-0.35, 0, 0.25], [0.03, 0.03, 0.2])];
    const shape = union(...sides, ...bar);
    const { values, size, origin, cell } = joined(shape);
    const added: number[] = [];
    for (const [at, value] of values.entries()) {
      const [i, j, k] = [at % size[0], Math.floor(at / size[0]) % size[1], Math.floor(at / (size[0] * size[1]))];
      const [x, y, z] = [origin[0] + i * cell, origin[1] + j * cell, origin[2] + k * cell];
      // Between the sides, not behind them.
      if (value > 0 && shape(x, y, z) <= 0 && Math.abs(x) < 0.04) added.push(Math.abs(y));
    }
    expect(added.length).toBeGreaterThan(0);
    // The bar's edge, as seen from the camera at a distance of 5, and a cell for rounding.
    expect(Math.max(...added)).toBeLessThan((0.03 * 5) / 4.6 + cell);
  });

  it('does not change the grid of a shape with one part', () => {
    const grid = gridOf(81, seat);
    const before = Buffer.from(grid.values.slice().buffer);
    expect(joinParts(grid, clean(marchingCubes(grid, 0)), 0, camera)).toBe(false);
    expect(before.equals(Buffer.from(grid.values.buffer))).toBe(true);
  });
});
