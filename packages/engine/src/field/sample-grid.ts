import type { ScalarGrid } from '../surface/scalar-grid.js';
import type { DensityField } from './density-field.js';

/**
 * Evaluates a field on a grid of cubic cells over its bounds, one layer of constant z at a time.
 *
 * The outermost samples are forced outside, so that the surface is closed even where a field misjudges its bounds.
 * @param resolution cells along the longest side of the bounds
 */
export async function sampleGrid(field: DensityField, resolution: number, signal?: AbortSignal): Promise<ScalarGrid> {
  const { min, max } = field.bounds;
  const extent = [max[0] - min[0], max[1] - min[1], max[2] - min[2]] as const;
  const cell = Math.max(...extent) / resolution;
  const [nx, ny, nz] = [countSamples(extent[0], cell), countSamples(extent[1], cell), countSamples(extent[2], cell)];
  const origin = [
    (min[0] + max[0] - (nx - 1) * cell) / 2,
    (min[1] + max[1] - (ny - 1) * cell) / 2,
    (min[2] + max[2] - (nz - 1) * cell) / 2,
  ] as const;

  const values = new Float32Array(nx * ny * nz);
  const points = new Float32Array(3 * nx * ny);
  for (let k = 0; k < nz; k++) {
    signal?.throwIfAborted();
    let p = 0;
    for (let j = 0; j < ny; j++) {
      for (let i = 0; i < nx; i++) {
        points[p++] = origin[0] + i * cell;
        points[p++] = origin[1] + j * cell;
        points[p++] = origin[2] + k * cell;
      }
    }
    await field.evaluate(points, values.subarray(k * nx * ny, (k + 1) * nx * ny));
  }
  closeBorder(values, nx, ny, nz, field.threshold);
  return { values, size: [nx, ny, nz], origin, cell };
}

/** One more sample than cells, and a cell of margin on both sides for the closed border. */
const countSamples = (extent: number, cell: number) => Math.ceil(extent / cell) + 3;

function closeBorder(values: Float32Array, nx: number, ny: number, nz: number, threshold: number): void {
  const outside = threshold - 1;
  const close = (i: number) => {
    values[i] = Math.min(values[i]!, outside);
  };
  for (let k = 0; k < nz; k++) {
    for (let j = 0; j < ny; j++) {
      const row = (k * ny + j) * nx;
      if (k === 0 || k === nz - 1 || j === 0 || j === ny - 1) for (let i = 0; i < nx; i++) close(row + i);
      close(row);
      close(row + nx - 1);
    }
  }
}
