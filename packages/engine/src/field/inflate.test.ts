import { expect, test } from 'vitest';
import { paintCutout } from '../photo/cutout.fixture.js';
import { clean } from '../surface/clean.js';
import { marchingCubes } from '../surface/marching-cubes.js';
import { enclosedVolume } from '../surface/topology.fixture.js';
import { nonManifoldVertices } from '../surface/topology.js';
import { inflate } from './inflate.js';
import { sampleGrid } from './sample-grid.js';

const discOf = (radius: number) => paintCutout(256, (u, v) => [128, 128, 128, Math.hypot(u, v) < radius ? 255 : 0]);

test('a disc becomes a ball that is as deep as it is wide, within 6 %', async () => {
  const field = inflate(discOf(0.8));
  const { positions } = marchingCubes(await sampleGrid(field, 64), field.threshold);
  const extent = (axis: number) => {
    const values = positions.filter((_, i) => i % 3 === axis);
    return values.reduce((a, b) => Math.max(a, b)) - values.reduce((a, b) => Math.min(a, b));
  };
  expect(extent(2) / extent(0)).toBeGreaterThan(0.94);
  expect(extent(2) / extent(0)).toBeLessThan(1.06);
});

test('a ring keeps its hole', async () => {
  const ring = paintCutout(256, (u, v) => [128, 128, 128, Math.abs(Math.hypot(u, v) - 0.6) < 0.2 ? 255 : 0]);
  const field = inflate(ring);
  const mesh = clean(marchingCubes(await sampleGrid(field, 96), field.threshold));
  expect(nonManifoldVertices(mesh)).toHaveLength(0);
  expect(enclosedVolume(mesh)).toBeGreaterThan(0);
  expect(mesh.positions.length / 3 - mesh.indices.length / 6).toBe(0); // Euler characteristic of a torus
});
