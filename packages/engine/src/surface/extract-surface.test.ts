import fc from 'fast-check';
import { describe, expect, inject, test } from 'vitest';
import { EngineError } from '../base/errors.js';
import type { TriangleMesh } from '../base/mesh.js';
import { sampleGrid } from '../field/sample-grid.js';
import { fieldOf } from '../field/test-fields.fixture.js';
import { paintCutout } from '../photo/cutout.fixture.js';
import { seededRandom } from '../random-cases.fixture.js';
import { connectedParts } from './clean.js';
import { extractSurface } from './extract-surface.js';
import { enclosedVolume } from './topology.fixture.js';
import { nonManifoldVertices } from './topology.js';

type Density = (x: number, y: number, z: number) => number;

const extract = async (density: Density, resolution: number, maxTriangles: number, threshold = 0) => {
  const field = fieldOf(density, threshold);
  return extractSurface(field, await sampleGrid(field, resolution), wholeFrame, maxTriangles);
};

const wholeFrame = paintCutout(64, () => [0, 0, 0, 255]);

function areaOf({ positions, indices }: TriangleMesh, t: number): number {
  const at = (c: number, axis: number) => positions[3 * indices[t + c]! + axis]!;
  const [ux, uy, uz] = [0, 1, 2].map((axis) => at(1, axis) - at(0, axis)) as [number, number, number];
  const [vx, vy, vz] = [0, 1, 2].map((axis) => at(2, axis) - at(0, axis)) as [number, number, number];
  return Math.hypot(uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx) / 2;
}

/** Expects the properties of every model. @returns its number of triangles */
function expectSound(mesh: TriangleMesh, maxTriangles: number): number {
  const triangles = mesh.indices.length / 3;
  expect(nonManifoldVertices(mesh)).toHaveLength(0);
  expect(triangles).toBeGreaterThan(3);
  expect(triangles).toBeLessThanOrEqual(maxTriangles);
  expect(mesh.positions.every(Number.isFinite)).toBe(true);
  expect(enclosedVolume(mesh)).toBeGreaterThan(0);
  let needles = 0;
  for (let t = 0; t < mesh.indices.length; t += 3) if (areaOf(mesh, t) < 1e-12) needles++;
  expect(needles).toBeLessThanOrEqual(0.01 * triangles);
  return triangles;
}

/** Waves, blobs, rods and holes at random positions, as an approximate distance or an exponential of it. */
const anyField = fc.record({
  seed: fc.integer({ min: 1, max: 2 ** 30 }),
  parts: fc.integer({ min: 1, max: 6 }),
  roughness: fc.double({ min: 0, max: 0.15, noNaN: true }),
  exponential: fc.boolean(),
  resolution: fc.integer({ min: 24, max: 64 }),
  maxTriangles: fc.integer({ min: 10_000, max: 15_000 }),
});

function randomDensity(seed: number, parts: number, roughness: number): Density {
  const next = seededRandom(seed);
  const position = () => [next() - 0.5, next() - 0.5, next() - 0.5].map((c) => 0.8 * c) as [number, number, number];
  const shapes = Array.from({ length: parts }, () => ({
    center: position(),
    direction: position(),
    radius: 0.02 + 0.2 * next(),
    hollow: next() < 0.3,
    rod: next() < 0.4,
  }));
  const [fx, fy, fz] = [20 + 40 * next(), 20 + 40 * next(), 20 + 40 * next()];
  return (x, y, z) => {
    let max = -1;
    for (const { center, direction, radius, hollow, rod } of shapes) {
      const offset = [x - center[0], y - center[1], z - center[2]] as const;
      const along = rod
        ? (offset[0] * direction[0] + offset[1] * direction[1] + offset[2] * direction[2]) /
          (direction[0] ** 2 + direction[1] ** 2 + direction[2] ** 2)
        : 0;
      const t = Math.min(Math.max(along, -1), 1);
      const r = Math.hypot(offset[0] - t * direction[0], offset[1] - t * direction[1], offset[2] - t * direction[2]);
      const thickness = rod ? radius / 4 : radius;
      max = Math.max(max, hollow ? 0.03 - Math.abs(r - thickness) : thickness - r);
    }
    return max + roughness * Math.sin(fx * x) * Math.sin(fy * y) * Math.sin(fz * z);
  };
}

describe('the surface of any field', () => {
  test('is a closed 2-manifold in one part, wound outwards, within its budget, finite, and without needles', {
    tags: 'slow',
  }, async () => {
    await fc.assert(
      fc.asyncProperty(anyField, async ({ seed, parts, roughness, exponential, resolution, maxTriangles }) => {
        const density = randomDensity(seed, parts, roughness);
        const [field, threshold]: [Density, number] = exponential
          ? [(x, y, z) => 25 * Math.exp(30 * density(x, y, z)), 25]
          : [density, 0];
        const mesh = await extract(field, resolution, maxTriangles, threshold).catch((error: unknown) => {
          expect(error).toBeInstanceOf(EngineError);
          return undefined;
        });
        if (!mesh) return;
        expectSound(mesh, maxTriangles);
        expect(connectedParts(mesh).count).toBe(1);
      }),
      { numRuns: inject('soak') ? 60 : 20, seed: 1 },
    );
  });

  test('of white noise is sampled at a lower resolution to keep the budget, or refused with a reason', async () => {
    const noise: Density = (x, y, z) => {
      const s = Math.sin(x * 12_989.8 + y * 78_233.7 + z * 37_719.3) * 43_758.5453;
      return s - Math.floor(s) - 0.5;
    };
    const outcome = await extract(noise, 48, 20_000).catch((error: unknown) => error);
    if (outcome instanceof Error)
      expect(outcome).toMatchObject({ code: 'inference_failed', message: expect.stringMatching(/20000 triangles/) });
    else expectSound(outcome as TriangleMesh, 20_000);
  });

  test('is refused with a reason if it is empty', async () => {
    await expect(extract(() => -1, 24, 10_000)).rejects.toMatchObject({ code: 'inference_failed' });
  });
});
