import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { EngineError } from '../base/errors.js';
import { bundleOfKind, loadBundle } from '../bundle/load-bundle.js';
import { paintCutout } from '../photo/cutout.fixture.js';
import { marchingCubes } from '../surface/marching-cubes.js';
import { type BoxManifest, boxedField } from './boxed-field.js';
import { columnsKind } from './columns.js';
import type { CameralessField } from './density-field.js';
import { type SampledGrid, sampleGrid } from './sample-grid.js';
import { fieldOf, randomTriplane, thinShapes } from './test-fields.fixture.js';

/** The same grid with every sample evaluated. */
async function dense(field: CameralessField, { size, origin, cell }: SampledGrid) {
  const [nx, ny, nz] = size;
  const values = new Float32Array(nx * ny * nz);
  const points = new Float32Array(3 * nx * ny);
  for (let k = 0; k < nz; k++) {
    for (let sample = 0; sample < nx * ny; sample++) {
      points[3 * sample] = origin[0] + (sample % nx) * cell;
      points[3 * sample + 1] = origin[1] + Math.floor(sample / nx) * cell;
      points[3 * sample + 2] = origin[2] + k * cell;
    }
    await field.evaluate(points, values.subarray(k * nx * ny, (k + 1) * nx * ny));
  }
  for (let sample = 0; sample < values.length; sample++) {
    const [i, j, k] = [sample % nx, Math.floor(sample / nx) % ny, Math.floor(sample / nx / ny)];
    const border = i === 0 || j === 0 || k === 0 || i === nx - 1 || j === ny - 1 || k === nz - 1;
    if (border && values[sample]! > field.threshold) values[sample] = field.threshold - 1;
  }
  return { values, size, origin, cell };
}

const sameBytes = (a: Float32Array | Uint32Array, b: Float32Array | Uint32Array) =>
  Buffer.compare(Buffer.from(a.buffer, 0, a.byteLength), Buffer.from(b.buffer, 0, b.byteLength)) === 0;

/** Expects the surface to equal that of the dense grid bit for bit, so that their Hausdorff distance is 0. */
async function expectDenseSurface(field: CameralessField, resolution: number): Promise<SampledGrid> {
  const grid = await sampleGrid(field, resolution);
  const ours = marchingCubes(grid, field.threshold);
  const wanted = marchingCubes(await dense(field, grid), field.threshold);
  expect(wanted.indices.length).toBeGreaterThan(0);
  expect(ours.indices.length).toBe(wanted.indices.length);
  expect(sameBytes(ours.positions, wanted.positions)).toBe(true);
  expect(sameBytes(ours.indices, wanted.indices)).toBe(true);
  return grid;
}

/** As in TripoSR: 25 at the surface, thousands inside, almost 0 outside. */
const exponential = (density: (x: number, y: number, z: number) => number) =>
  fieldOf((x, y, z) => 25 * Math.exp(20 * density(x, y, z)), 25);

const randomField = (seed: number) => {
  const { halfExtent, decoder } = randomTriplane(seed);
  const manifest = {
    decoder: { halfExtent, up: '+z', front: '+x' },
    camera: { fovDegrees: 40, distance: 1.9 },
    threshold: 25,
  } as BoxManifest;
  return boxedField(manifest, decoder, undefined);
};

/** A lamp on two legs, its pole and legs a few pixels thin. */
const lamp = paintCutout(256, (u, v) => {
  const shade = v < -0.3 && v > -0.8 && Math.abs(u) < 0.4;
  const pole = v >= -0.3 && v < 0.5 && Math.abs(u) < 0.02;
  const legs = v >= 0.5 && v < 0.8 && Math.abs(Math.abs(u) - (v - 0.5)) < 0.02;
  return [180, 120, 60, shade || pole || legs ? 255 : 0];
});

let columns: CameralessField;
beforeAll(async () => {
  const bundle = await loadBundle(join(import.meta.dirname, '../../../../models/gen3d-base'));
  const networks = await columnsKind.open(bundleOfKind(bundle, 'reconstruction'));
  columns = await networks.encode(lamp).finally(() => networks.release());
});

describe('from coarse to fine, the surface is that of the dense grid', () => {
  describe.each([0.5, 3])('with parts %f cells thin', (cells) => {
    // Parts thinner than a cell have samples only by chance, and must have the same ones.
    test.each(Object.entries(thinShapes(cells / 72)).map(([name, density]) => ({ name, density })))(
      '$name, as a distance and as an exponential',
      async ({ density }) => {
        await expectDenseSurface(fieldOf(density), 72);
        await expectDenseSurface(exponential(density), 72);
      },
    );
  });

  test.each([1, 2])('a triplane and a network with random weights (seed %i)', async (seed) => {
    await expectDenseSurface(randomField(seed), 64);
  });

  test('the columns of a network, which are clamped except around the surface', async () => {
    await expectDenseSurface(columns, 96);
  });

  test('a field that is dense up to its bounds and beyond', async () => {
    await expectDenseSurface(
      fieldOf(() => 1),
      40,
    );
  });
});

describe('at 256 cells', () => {
  const shareOf = ({ evaluations, size }: SampledGrid) => evaluations / (size[0] * size[1] * size[2]);

  test.each(['rods', 'blobs'])('at most 6 % of the samples are evaluated for %s', async (name) => {
    const density = thinShapes(1.2 / 256)[name]!;
    expect(shareOf(await sampleGrid(fieldOf(density), 256))).toBeLessThan(0.06);
  });

  test('at most 12 % of the samples are evaluated for the columns of a network, whose bounds are tight', async () => {
    expect(shareOf(await sampleGrid(columns, 256))).toBeLessThan(0.12);
  });

  test('at most 12 % of the samples are evaluated for a triplane and a network with random weights', async () => {
    expect(shareOf(await sampleGrid(randomField(2), 256))).toBeLessThan(0.12);
  });
});

test('NaN in a field is an EngineError', async () => {
  const broken = fieldOf((x) => (x > 0.2 ? Number.NaN : -1));
  await expect(sampleGrid(broken, 32)).rejects.toThrow(EngineError);
});

test('stops between two batches when it is aborted', async () => {
  const abort = new AbortController();
  const field = fieldOf((x, y, z) => {
    abort.abort(new Error('enough'));
    return x + y + z;
  });
  await expect(sampleGrid(field, 256, abort.signal)).rejects.toThrow('enough');
});
