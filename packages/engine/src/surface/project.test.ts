import { expect, test } from 'vitest';
import type { TriangleMesh } from '../base/mesh.js';
import { sampleGrid } from '../field/sample-grid.js';
import { fieldOf } from '../field/test-fields.fixture.js';
import { marchingCubes } from './marching-cubes.js';
import { projectOntoField } from './project.js';
import { smooth } from './smooth.js';
import { enclosedVolume } from './topology.fixture.js';
import { nonManifoldVertices } from './topology.js';

/** The mean distance of the vertices from a surface. */
function meanDistance({ positions }: TriangleMesh, distance: (x: number, y: number, z: number) => number): number {
  let sum = 0;
  for (let i = 0; i < positions.length; i += 3) {
    sum += Math.abs(distance(positions[i]!, positions[i + 1]!, positions[i + 2]!));
  }
  return sum / (positions.length / 3);
}

const ball = (x: number, y: number, z: number) => 0.3 - Math.hypot(x, y, z);

test.each([
  ['a distance', fieldOf(ball)],
  ['an exponential', fieldOf((x, y, z) => 25 * Math.exp(60 * ball(x, y, z)), 25)],
])('projection onto %s reduces the error of smoothing a ball to a tenth', async (_, field) => {
  const grid = await sampleGrid(field, 32);
  const fair = smooth(marchingCubes(grid, field.threshold), 10);
  const projected = await projectOntoField(fair, field, grid.scale, grid.cell);
  expect(meanDistance(projected, ball)).toBeLessThan(0.1 * meanDistance(fair, ball));
});

test('projection onto noise does not fold or invert any triangle', async () => {
  const field = fieldOf(ball);
  const grid = await sampleGrid(field, 32);
  const mesh = marchingCubes(grid, 0);
  const noise = fieldOf((x, y, z) => Math.sin(900 * x) + Math.sin(800 * y) + Math.sin(700 * z));
  const projected = await projectOntoField(mesh, noise, grid.scale, grid.cell);
  expect(nonManifoldVertices(projected)).toHaveLength(0);
  expect(enclosedVolume(projected) / enclosedVolume(mesh)).toBeCloseTo(1, 1);
  for (let i = 0; i < mesh.positions.length; i++) {
    expect(Math.abs(projected.positions[i]! - mesh.positions[i]!)).toBeLessThanOrEqual(0.5 * grid.cell + 1e-6);
  }
  const { positions, indices } = projected;
  for (let t = 0; t < indices.length; t += 3) {
    const normal = (p: Float32Array) => {
      const at = (c: number) => p.subarray(3 * indices[t + c]!, 3 * indices[t + c]! + 3);
      const [u, v] = [1, 2].map((c) => at(c).map((value, axis) => value - at(0)[axis]!)) as [
        Float32Array,
        Float32Array,
      ];
      return [u[1]! * v[2]! - u[2]! * v[1]!, u[2]! * v[0]! - u[0]! * v[2]!, u[0]! * v[1]! - u[1]! * v[0]!];
    };
    const [before, after] = [normal(mesh.positions), normal(positions)];
    expect(before.reduce((sum, value, axis) => sum + value * after[axis]!, 0)).toBeGreaterThan(0);
  }
});
