import { describe, expect, test } from 'vitest';
import type { TexturedMesh, TriangleMesh } from '../base/mesh.js';
import { paintCutout } from '../photo/cutout.fixture.js';
import { matteChannel } from '../photo/frame.js';
import { rasterize } from '../render/rasterize.js';
import { photoView } from '../render/view.js';
import { marchingCubes } from '../surface/marching-cubes.js';
import { nonManifoldVertices } from '../surface/topology.js';
import { carve } from './carve.js';
import type { DensityField } from './density-field.js';
import { sampleGrid } from './sample-grid.js';
import { fieldOf } from './test-fields.fixture.js';

/** A mug's outline: a body, and a handle with a hole. */
const mug = paintCutout(256, (u, v) => {
  const body = Math.abs(u + 0.15) < 0.4 && Math.abs(v) < 0.5;
  const handle = Math.abs(Math.hypot(u - 0.3, v) - 0.25) < 0.06;
  return [200, 200, 200, body || handle ? 255 : 0];
});

const size = 256;
const surfaceOf = async (field: DensityField): Promise<TriangleMesh> =>
  marchingCubes(await sampleGrid(field, 96), field.threshold);

/** Intersection over union of the mesh in the photo's camera and the matte. */
function agreement(mesh: TriangleMesh, field: DensityField): number {
  const { triangle } = rasterize(mesh as TexturedMesh, photoView(field.camera, size));
  const matte = matteChannel(mug, size);
  let [both, either] = [0, 0];
  for (let i = 0; i < triangle.length; i++) {
    const [seen, wanted] = [triangle[i]! >= 0, matte[i]! > 0.5];
    if (seen && wanted) both++;
    if (seen || wanted) either++;
  }
  return both / either;
}

const swollen = (x: number, y: number, z: number) =>
  0.4 + 0.05 * Math.sin(9 * x) * Math.cos(7 * y) - Math.hypot(x, y, 0.9 * z);

describe.each([
  ['a distance', fieldOf(swollen)],
  ['an exponential', fieldOf((x, y, z) => 25 * Math.exp(20 * swollen(x, y, z)), 25)],
  ['a steep clamped distance', fieldOf((x, y, z) => Math.min(Math.max(500 * swollen(x, y, z), -10), 10))],
])('a shape that exceeds the outline of the photo, as %s', (_, field) => {
  test('has the outline of the photo and its hole after carving, and stays closed', async () => {
    const carved = await carve(field, mug);
    expect(agreement(await surfaceOf(field), field)).toBeLessThan(0.8);
    const mesh = await surfaceOf(carved);
    expect(nonManifoldVertices(mesh)).toHaveLength(0);
    expect(agreement(mesh, carved)).toBeGreaterThan(0.96);
  });

  test('is nowhere denser than before', async () => {
    const carved = await carve(field, mug);
    const points = Float32Array.from({ length: 3000 }, (_, i) => ((i * 0.618) % 1) - 0.5);
    const [before, after] = [new Float32Array(1000), new Float32Array(1000)];
    await field.evaluate(points, before);
    await carved.evaluate(points, after);
    for (let i = 0; i < before.length; i++)
      expect(after[i]! - before[i]!).toBeLessThanOrEqual(1e-5 * Math.abs(before[i]!));
  });
});

test('a shape within the outline of the photo keeps its volume', async () => {
  const ball = fieldOf((x, y, z) => 0.12 - Math.hypot(x + 0.05, y, z));
  const [before, after] = [await surfaceOf(ball), await surfaceOf(await carve(ball, mug))];
  expect(after.indices.length).toBe(before.indices.length);
  for (let i = 0; i < before.positions.length; i++) {
    expect(Math.abs(after.positions[i]! - before.positions[i]!)).toBeLessThan(1e-5);
  }
});
