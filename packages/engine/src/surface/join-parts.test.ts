import { describe, expect, it } from 'vitest';
import type { ScalarGrid } from '../field/sample-grid.js';
import { clean, connectedParts } from './clean.js';
import { joinParts } from './join-parts.js';
import { marchingCubes } from './marching-cubes.js';
import { block, gridOf, rearLeg, seat, union } from './shapes.fixture.js';

const camera = { distance: 5, halfTangent: 0.2 };

const parts = (grid: ScalarGrid): number => connectedParts(clean(marchingCubes(grid, 0))).count;
const join = (grid: ScalarGrid): boolean => joinParts(grid, clean(marchingCubes(grid, 0)), 0, camera);

function expectUnchanged(grid: ScalarGrid): void {
  const before = Buffer.from(grid.values.slice().buffer);
  expect(join(grid)).toBe(false);
  expect(before.equals(Buffer.from(grid.values.buffer))).toBe(true);
}

describe('joinParts', () => {
  it('joins a leg to the seat if the seat hides the gap between them', () => {
    const grid = gridOf(81, union(seat, rearLeg(0.28)));
    expect(parts(grid)).toBe(2);
    expect(join(grid)).toBe(true);
    expect(parts(grid)).toBe(1);
  });

  it('joins both pieces of a broken leg, the lower of which is near only to the upper', () => {
    const apron = block([0, -0.1, 0.6], [0.6, 0.55, 0.06]);
    const pieces = [block([0, 0.18, -0.4], [0.08, 0.1, 0.08]), block([0, -0.25, -0.4], [0.08, 0.25, 0.08])];
    const grid = gridOf(81, union(apron, block([0, 0.4, 0], [0.6, 0.05, 0.6]), ...pieces));
    expect(parts(grid)).toBe(3);
    join(grid);
    expect(parts(grid)).toBe(1);
  });

  it('does not join a leg that is far from the seat', () => {
    expectUnchanged(gridOf(81, union(seat, rearLeg(0.15))));
  });

  it('does not join parts if the gap between them is visible', () => {
    expectUnchanged(gridOf(81, union(block([-0.3, 0, 0], [0.25, 0.3, 0.2]), block([0.3, 0, 0], [0.28, 0.3, 0.2]))));
  });

  it('does not join parts if only the middle of the gap is hidden', () => {
    const sides = [block([-0.375, 0, -0.15], [0.3125, 0.2, 0.05]), block([0.375, 0, -0.15], [0.3125, 0.15, 0.05])];
    const bar = block([0, 0, 0.115], [0.026, 0.2, 0.015]);
    const holder = [
      block([-0.137, 0.185, 0.115], [0.163, 0.015, 0.015]),
      block([-0.275, 0.185, 0], [0.025, 0.015, 0.15]),
    ];
    const grid = gridOf(161, union(...sides, bar, ...holder));
    expect(parts(grid)).toBe(2);
    expectUnchanged(grid);
  });

  it('adds nothing that the camera sees above or below a bar in front of the gap', () => {
    const sides = [block([-0.4, 0, 0], [0.35, 0.4, 0.1]), block([0.3, 0, 0], [0.25, 0.3, 0.1])];
    const bar = [block([-0.1, 0, 0.4], [0.3, 0.03, 0.03]), block([-0.35, 0, 0.25], [0.03, 0.03, 0.2])];
    const shape = union(...sides, ...bar);
    const grid = gridOf(81, shape);
    expect(join(grid)).toBe(true);
    const { values, size, origin, cell } = grid;
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
    expectUnchanged(gridOf(81, seat));
  });
});
