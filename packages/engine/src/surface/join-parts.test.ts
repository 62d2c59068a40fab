import { describe, expect, it } from 'vitest';
import { connectedParts } from './clean.js';
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

function partsAfterJoining(shape: Density): number {
  const grid = gridOf(81, shape);
  joinParts(grid, marchingCubes(grid, 0), 0, camera);
  return connectedParts(marchingCubes(grid, 0)).count;
}

describe('joinParts', () => {
  it('joins a leg to the seat that hides the gap between them', () => {
    const shape = union(seat, legUnder(0.28));
    expect(connectedParts(marchingCubes(gridOf(81, shape), 0)).count).toBe(2);
    expect(partsAfterJoining(shape)).toBe(1);
  });

  it('leaves a leg alone that is far from the seat', () => {
    expect(partsAfterJoining(union(seat, legUnder(0.15)))).toBe(2);
  });

  it('leaves parts separate that the photo shows as separate', () => {
    expect(partsAfterJoining(union(block([-0.3, 0, 0], [0.25, 0.3, 0.2]), block([0.3, 0, 0], [0.28, 0.3, 0.2])))).toBe(
      2,
    );
  });

  it('does not touch the grid of a shape in one part', () => {
    const grid = gridOf(81, seat);
    const before = Buffer.from(grid.values.slice().buffer);
    expect(joinParts(grid, marchingCubes(grid, 0), 0, camera)).toBe(false);
    expect(before.equals(Buffer.from(grid.values.buffer))).toBe(true);
  });
});
