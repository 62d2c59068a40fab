import { EngineError } from '../base/errors.js';
import type { TriangleMesh } from '../base/mesh.js';
import type { DensityField } from '../field/density-field.js';
import { type SampledGrid, sampleGrid } from '../field/sample-grid.js';
import { clean } from './clean.js';
import { marchingCubes } from './marching-cubes.js';
import { projectOntoField } from './project.js';
import { simplify } from './simplify.js';
import { smooth } from './smooth.js';

/**
 * Smoothing evens out a few cells in ten passes. Steps that a field has of its own are as large in the world on any
 * grid: the square of the resolution takes them out alike, which was tuned at 160 cells.
 */
const smoothingPasses = ({ projects }: DensityField, resolution: number): number =>
  projects ? 10 : Math.min(Math.max(Math.round(10 * (resolution / 160) ** 2), 10), 30);

/** Cells along the longest side below which nothing is left of a shape. */
const coarsest = 24;

/**
 * The surface of a sampled field: a closed, outward wound 2-manifold of at most `maxTriangles`, without specks.
 *
 * A shape with more holes and parts than so many triangles can show is sampled again at half the resolution, which has
 * fewer.
 * @param sampled the field's samples, at the resolution wanted
 * @throws {EngineError} inference_failed, if there is no surface, or the budget is too small even for the coarsest
 */
export async function extractSurface(
  field: DensityField,
  sampled: SampledGrid,
  maxTriangles: number,
  signal?: AbortSignal,
): Promise<TriangleMesh> {
  for (let grid = sampled; ; ) {
    const raw = clean(marchingCubes(grid, field.threshold));
    if (raw.indices.length === 0) {
      throw new EngineError(
        'inference_failed',
        'The network found no solid shape in this photo. Try another view of the object.',
      );
    }
    const { mesh, withinBudget } = await simplify(smooth(raw, smoothingPasses(field, grid.resolution)), maxTriangles);
    if (withinBudget) return field.projects ? projectOntoField(mesh, field, grid.scale, grid.cell) : mesh;
    const resolution = Math.floor(grid.resolution / 2);
    if (resolution < coarsest) {
      throw new EngineError(
        'inference_failed',
        `The shape found in this photo has too many holes and parts for ${maxTriangles} triangles. Allow more, or try another view of the object.`,
      );
    }
    grid = await sampleGrid(field, resolution, signal);
  }
}
