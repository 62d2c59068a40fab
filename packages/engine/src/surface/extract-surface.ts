import { EngineError } from '../base/errors.js';
import type { Cutout } from '../base/image.js';
import type { TriangleMesh } from '../base/mesh.js';
import type { DensityField } from '../field/density-field.js';
import { type SampledGrid, sampleGrid } from '../field/sample-grid.js';
import { clean } from './clean.js';
import { fair } from './fair.js';
import { joinParts } from './join-parts.js';
import { marchingCubes } from './marching-cubes.js';
import { projectOntoField } from './project.js';
import { simplify } from './simplify.js';
import { smooth } from './smooth.js';

// Turns a sampled field into a mesh that can be printed: closed, wound outward, in one surface per part, within the
// triangle limit. The order matters: marching cubes, cleaning, joining loose parts, smoothing, simplifying, moving
// vertices back onto the field, and fairing the hidden side, because each step relies on what the one before guarantees,
// and the last ones need a 2-manifold.

/**
 * Ten passes smooth over a few cells. The steps of a field that was interpolated have a fixed size in space, so
 * removing them takes passes in proportion to the squared resolution; tuned at 160 cells.
 */
const smoothingPasses = ({ projects }: DensityField, resolution: number): number =>
  projects ? 10 : Math.min(Math.max(Math.round(10 * (resolution / 160) ** 2), 10), 30);

/** Distance in cells by which simplification may move the surface: half a cell of 128 is invisible. */
const tolerance = 0.5;

/** Minimum cells along the longest side: with fewer, nothing is left of a shape. */
const minResolution = 24;

/**
 * Extracts the surface of a sampled field: a closed 2-manifold, wound outward, without islands, and in one part where
 * the cutout's outline is. It has as many triangles as its shape needs, but at most `maxTriangles`.
 *
 * If a shape has too many holes and parts for `maxTriangles`, it is sampled again at half the resolution, which removes
 * some.
 * @param maxTriangles at least `meshDefaults.minTriangles`
 * @throws {EngineError} inference_failed, if there is no surface, or the budget is too small even at the lowest
 *   resolution
 */
export async function extractSurface(
  field: DensityField,
  sampled: SampledGrid,
  cutout: Cutout,
  maxTriangles: number,
  signal?: AbortSignal,
): Promise<TriangleMesh> {
  for (let grid = sampled; ; ) {
    const loose = clean(marchingCubes(grid, field.threshold));
    const joined = joinParts(grid, loose, field.threshold, [{ cutout, camera: field.camera }]);
    const raw = joined ? clean(marchingCubes(joined, field.threshold)) : loose;
    if (raw.indices.length === 0) {
      throw new EngineError(
        'inference_failed',
        'The network found no solid shape in this photo. Try another view of the object.',
      );
    }
    const smoothed = smooth(raw, smoothingPasses(field, grid.resolution));
    const { mesh, withinBudget } = await simplify(smoothed, maxTriangles, tolerance * grid.cell);
    if (withinBudget) {
      const projected = field.projects ? await projectOntoField(mesh, field, grid.scale, grid.cell) : mesh;
      return field.bumpyBehind ? fair(projected, joined ?? grid, field.threshold, field.camera) : projected;
    }
    const resolution = Math.floor(grid.resolution / 2);
    if (resolution < minResolution) {
      throw new EngineError(
        'inference_failed',
        `The shape found in this photo has too many holes and parts for ${maxTriangles} triangles. Allow more, or try another view of the object.`,
      );
    }
    grid = await sampleGrid(field, resolution, signal);
  }
}
