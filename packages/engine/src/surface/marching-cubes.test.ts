import { describe, expect, test } from 'vitest';
import type { TriangleMesh } from '../base/mesh.js';
import { seededRandom } from '../random-photos.fixture.js';
import { marchingCubes } from './marching-cubes.js';
import { ball, gridOf } from './shapes.fixture.js';
import { enclosedVolume } from './topology.fixture.js';
import { nonManifoldVertices } from './topology.js';

const eulerCharacteristic = (mesh: TriangleMesh) => mesh.positions.length / 3 - mesh.indices.length / 6;

describe('marching cubes', () => {
  test('a sphere of radius 0.5 encloses its true volume within 1 % and winds outwards', () => {
    const mesh = marchingCubes(gridOf(48, ball(0.5)), 0);
    expect(enclosedVolume(mesh) / ((4 / 3) * Math.PI * 0.5 ** 3)).toBeCloseTo(1, 2);
    expect(eulerCharacteristic(mesh)).toBe(2);
  });

  test.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'white noise, which has every ambiguous cell, gives a closed 2-manifold (seed %i)',
    (seed) => {
      const noise = seededRandom(seed);
      const mesh = marchingCubes(
        gridOf(20, () => noise() - 0.5),
        0,
      );
      expect(mesh.indices.length).toBeGreaterThan(10_000);
      expect(nonManifoldVertices(mesh)).toHaveLength(0);
    },
  );

  test('a density that never crosses gives an empty mesh', () => {
    expect(
      marchingCubes(
        gridOf(5, () => -1),
        0,
      ).indices,
    ).toHaveLength(0);
  });

  test('NaN is refused', () => {
    expect(() =>
      marchingCubes(
        gridOf(5, () => Number.NaN),
        0,
      ),
    ).toThrow(RangeError);
  });
});
