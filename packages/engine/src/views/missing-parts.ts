import { boxAroundBoth } from '../base/box.js';
import { sampleSquare } from '../base/interpolation.js';
import type { DensityField } from '../field/density-field.js';
import { signedDistance } from '../field/distance-transform.js';
import { sampleGrid } from '../field/sample-grid.js';
import { jointAt } from '../field/solids/solid.js';
import { depthMap } from '../render/rasterize.js';
import { marchingCubes } from '../surface/marching-cubes.js';
import { viewOf } from '../texture/bake-views.js';
import { bendViews, type PlacedView } from './bend.js';
import { fusedField } from './fuse.js';
import { centerOf, mapSize, newSample, sampleOutline } from './map.js';
import { seePoint, type ViewCamera } from './view-camera.js';

// A solid that was completed from the front photo has the parts that this photo shows beside it. Other photos show
// others: the feet at the back, a handle, a cap.

/** Cells along the longest side of the solid, and pixels a side of its outlines. */
const cells = 96;
const pixelsAcross = 128;

/**
 * A part is outside the solid's outline by `minReach` pixels somewhere, and ends where it is outside by `minPart`.
 * With less, cameras that are a little off give slivers along the edges.
 */
const [minReach, minPart] = [4, 1.5];

/** The parts in one photo. */
interface Parts {
  readonly camera: ViewCamera;
  /** How far inside a part, and inside the solid's outline, each pixel is [pixelsAcross·pixelsAcross], in pixels. */
  readonly part: Float32Array;
  readonly solid: Float32Array;
}

/**
 * Adds the parts of the fused field that other photos show beside a completed solid.
 *
 * @param placed the views in the space of the completed field, the front first
 */
export async function withMissingParts(completed: DensityField, placed: readonly PlacedView[]): Promise<DensityField> {
  const mesh = marchingCubes(await sampleGrid(completed, cells), completed.threshold);
  const found = placed.slice(1).flatMap(({ view, camera }): Parts[] => {
    const { depth } = depthMap(mesh, viewOf(camera, pixelsAcross));
    const solid = signedDistance(
      depth.map((z) => (z < Infinity ? 1 : 0)),
      pixelsAcross,
    );
    const mask = partsBeside(solid, view.outline);
    return mask.includes(1) ? [{ camera, solid, part: signedDistance(mask, pixelsAcross) }] : [];
  });
  if (found.length === 0) return completed;
  const fused = fusedField(bendViews(placed), 0);
  const seen = new Float64Array(4);
  return {
    ...completed,
    bounds: boxAroundBoth(completed.bounds, fused.bounds),
    async evaluate(points, values) {
      await completed.evaluate(points, values);
      const near: { readonly point: number; readonly joint: number }[] = [];
      for (let i = 0, p = 0; i < values.length; i++, p += 3) {
        let joint = -Infinity;
        for (const { camera, part, solid } of found) {
          seePoint(camera, points[p]!, points[p + 1]!, points[p + 2]!, seen);
          const pixelsInside = (distances: Float32Array) => sampleSquare(distances, pixelsAcross, seen[0]!, seen[1]!);
          joint = Math.max(joint, jointAt(pixelsInside(part), pixelsInside(solid)));
        }
        if (completed.threshold + joint > values[i]!) near.push({ point: i, joint });
      }
      const others = new Float32Array(near.length);
      await fused.evaluate(
        Float32Array.from(near.flatMap(({ point: i }) => [...points.subarray(3 * i, 3 * i + 3)])),
        others,
      );
      for (const [n, { point, joint }] of near.entries()) {
        const part = Math.min(others[n]! - fused.threshold, joint);
        values[point] = Math.max(values[point]!, completed.threshold + part);
      }
    },
  };
}

/** A mask [pixelsAcross·pixelsAcross] of the parts of an outline beside a solid. */
function partsBeside(solid: Float32Array, outline: PlacedView['view']['outline']): Float32Array {
  const sample = newSample();
  const isOutside = (pixel: number, distance: number) => {
    if (solid[pixel]! > -distance) return false;
    const [x, y] = [pixel % pixelsAcross, Math.floor(pixel / pixelsAcross)];
    sampleOutline(outline, mapSize, centerOf(x, pixelsAcross), centerOf(y, pixelsAcross), sample);
    return sample.value > 0;
  };
  const mask = new Float32Array(pixelsAcross * pixelsAcross);
  const reached: number[] = [];
  const add = (pixel: number) => {
    mask[pixel] = 1;
    reached.push(pixel);
  };
  for (let pixel = 0; pixel < mask.length; pixel++) if (isOutside(pixel, minReach)) add(pixel);
  for (let pixel = reached.pop(); pixel !== undefined; pixel = reached.pop()) {
    for (const neighbor of [pixel - 1, pixel + 1, pixel - pixelsAcross, pixel + pixelsAcross]) {
      if (mask[neighbor] === 0 && isOutside(neighbor, minPart)) add(neighbor);
    }
  }
  return mask;
}
