import { describe, expect, test } from 'vitest';
import type { TriangleMesh } from '../base/mesh.js';
import { rasterize } from '../render/rasterize.js';
import { photoView } from '../render/view.js';
import { clean } from './clean.js';
import { fair } from './fair.js';
import { marchingCubes } from './marching-cubes.js';
import { vertexNormals } from './normals.js';
import { ball, block, gridOf } from './shapes.fixture.js';
import { smooth } from './smooth.js';
import { nonManifoldVertices } from './topology.js';

type Density = (x: number, y: number, z: number) => number;

const camera = { distance: 3.5, halfTangent: 0.3 };

/** Bumps of a fortieth, on all sides. */
const bumpy =
  (density: Density): Density =>
  (x, y, z) =>
    density(x, y, z) + 0.02 * Math.sin(21 * x + 1) * Math.sin(23 * y + 2) * Math.sin(22 * z + 3);

/** Turns a shape around the up axis, so that the photo shows two of its sides. */
const turned = (density: Density, radians: number): Density => {
  const [sin, cos] = [Math.sin(radians), Math.cos(radians)];
  return (x, y, z) => density(cos * x - sin * z, y, sin * x + cos * z);
};

function faired(density: Density, cells = 48): { mesh: TriangleMesh; result: TriangleMesh } {
  const grid = gridOf(cells, density);
  const mesh = smooth(clean(marchingCubes(grid, 0)), 4);
  return { mesh, result: fair(mesh, grid, 0, camera) };
}

const verticesOf = ({ positions }: TriangleMesh) =>
  Array.from(
    { length: positions.length / 3 },
    (_, i) => [...positions.subarray(3 * i, 3 * i + 3)] as const,
  ) as (readonly [number, number, number])[];

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** The standard deviation of some values, as far as they differ from their mean. */
function spread(values: readonly number[]): number {
  const middle = mean(values);
  return Math.sqrt(mean(values.map((value) => (value - middle) ** 2)));
}

const radii = (mesh: TriangleMesh, isIncluded: (z: number) => boolean) =>
  verticesOf(mesh)
    .filter(([, , z]) => isIncluded(z))
    .map((position) => Math.hypot(...position));

describe('fairing', () => {
  test('smooths the hidden side of a bumpy ball', () => {
    const { mesh, result } = faired(bumpy(ball(0.7)));
    const isHidden = (z: number) => z < -0.15;
    expect(spread(radii(result, isHidden))).toBeLessThan(0.4 * spread(radii(mesh, isHidden)));
  });

  test('leaves what the photo shows unchanged to the pixel', () => {
    const bowl: Density = (x, y, z) => Math.min(ball(0.7)(x, y, z), -ball(0.4, 0.3, 0.3, 0.5)(x, y, z));
    for (const density of [bumpy(ball(0.7)), bumpy(bowl)]) {
      const { mesh, result } = faired(density);
      const [before, after] = [mesh, result].map((shape) => rasterize(shape, photoView(camera, 512)));
      expect(after!.depth.findIndex((depth, pixel) => depth !== before!.depth[pixel])).toBe(-1);
      expect(result.positions).not.toEqual(mesh.positions);
      const shown = [...new Set(before!.triangle)].filter((hit) => hit >= 0);
      const corners = shown.flatMap((hit) => [...mesh.indices.subarray(3 * hit, 3 * hit + 3)]);
      const moved = corners.filter((vertex) =>
        [0, 1, 2].some((axis) => result.positions[3 * vertex + axis] !== mesh.positions[3 * vertex + axis]),
      );
      expect(moved).toEqual([]);
    }
  });

  test('keeps the far edges of a box sharp', () => {
    const box = turned(block([0, 0, 0], [0.5, 0.5, 0.5]), 0.6);
    const { mesh, result } = faired(box);
    // The far upright edge, away from its corners.
    const edge = ({ positions }: TriangleMesh) =>
      Math.min(...verticesOf({ positions, indices: mesh.indices }).flatMap(([, y, z]) => (Math.abs(y) < 0.3 ? z : [])));
    const cell = 2 / 47;
    expect(edge(result) - edge(mesh)).toBeLessThan(0.5 * cell);
  });

  test('keeps the thickness of a thin plate, and of a rod behind it', () => {
    const plate = block([0, 0, 0], [0.6, 0.6, 0.07]);
    const rod: Density = (x, y, z) => Math.min(0.09 - Math.hypot(y, z + 0.5), 0.5 - Math.abs(x));
    const { mesh, result } = faired((x, y, z) => Math.max(plate(x, y, z), rod(x, y, z)));
    const size = (shape: TriangleMesh, axis: 1 | 2, isIncluded: (x: number, y: number, z: number) => boolean) => {
      const values = verticesOf(shape).flatMap((position) => (isIncluded(...position) ? [position[axis]] : []));
      return Math.max(...values) - Math.min(...values);
    };
    const inPlate = (x: number, y: number, z: number) => Math.hypot(x, y) < 0.5 && z > -0.3;
    const inRod = (x: number, _: number, z: number) => Math.abs(x) < 0.3 && z < -0.3;
    expect(Math.abs(size(result, 2, inPlate) / size(mesh, 2, inPlate) - 1)).toBeLessThan(0.06);
    expect(size(result, 1, inRod) / size(mesh, 1, inRod)).toBeGreaterThan(0.8);
    expect(size(result, 2, inRod) / size(mesh, 2, inRod)).toBeGreaterThan(0.8);
  });

  test('keeps the surface a closed manifold without folds', () => {
    const { mesh, result } = faired(
      bumpy((x, y, z) => Math.max(ball(0.5, 0, 0.1, 0.2)(x, y, z), ball(0.4, 0, -0.2, -0.4)(x, y, z))),
    );
    expect(nonManifoldVertices(result)).toHaveLength(0);
    const [before, after] = [vertexNormals(mesh), vertexNormals(result)];
    const cosines = Array.from({ length: before.length / 3 }, (_, i) =>
      [0, 1, 2].reduce((sum, axis) => sum + before[3 * i + axis]! * after[3 * i + axis]!, 0),
    );
    expect(Math.min(...cosines)).toBeGreaterThan(0);
  });
});
