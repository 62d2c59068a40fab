import { frameScale } from '../base/camera.js';
import { sampleSquare } from '../base/interpolation.js';
import type { DensityField } from '../field/density-field.js';
import { signedDistance } from '../field/distance-transform.js';
import { sampleGrid } from '../field/sample-grid.js';
import { type Density, jointAt } from '../field/solids/solid.js';
import { findPatches } from '../photo/clean-matte.js';
import { depthMap } from '../render/rasterize.js';
import { marchingCubes } from '../surface/marching-cubes.js';
import { viewOf } from '../texture/bake-views.js';
import type { PlacedView } from './bend.js';
import type { FusedField } from './fuse.js';
import { centerOf, mapSize, newSample, sampleOutline } from './map.js';
import { seePoint, type ViewCamera } from './view-camera.js';

// A solid that was completed from the front photo has the parts that this photo shows beside it. Other photos show
// others: the feet at the back, a handle, a cap.

/** Cells along the longest side of the solid, and pixels a side of its outlines. */
const cells = 96;
const pixelsAcross = 128;

/**
 * A part is outside the solid's outline by at least `minPart` pixels everywhere and by `minReach` somewhere, and it has
 * at least `minArea` pixels. Less gives slivers and lumps, from cornices and from cameras that are a little off: those of
 * the validation set have at most 11 pixels, feet and the cap of a carton at least 21.
 */
const [minPart, minReach, minArea] = [1.5, 2, 16];

/** Density far outside. */
const emptiest = -3;

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
 * @param completed its bounds contain those of the fused field
 * @param fused in the space of its own camera, which has another lens
 * @param placed the views in the space of the completed field, the front first
 */
export async function withMissingParts(
  completed: DensityField,
  fused: FusedField,
  placed: readonly PlacedView[],
): Promise<DensityField> {
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
  const seen = new Float64Array(4);
  // The same pixel of the front photo and the same depth, in the space of the fused field.
  const perspective = (z: number) => frameScale(fused.camera, z) / frameScale(completed.camera, z);
  const partAt: Density = (x, y, z) => {
    let joint = -Infinity;
    for (const { camera, part, solid } of found) {
      seePoint(camera, x, y, z, seen);
      const pixelsInside = (distances: Float32Array) => sampleSquare(distances, pixelsAcross, seen[0]!, seen[1]!);
      joint = Math.max(joint, jointAt(pixelsInside(part), pixelsInside(solid)));
    }
    if (joint <= emptiest) return emptiest;
    const scale = perspective(z);
    return Math.min(joint, fused.densityAt(x * scale, y * scale, z));
  };
  return {
    ...completed,
    async evaluate(points, values) {
      await completed.evaluate(points, values);
      for (let i = 0, p = 0; i < values.length; i++, p += 3) {
        values[i] = Math.max(values[i]!, partAt(points[p]!, points[p + 1]!, points[p + 2]!));
      }
    },
  };
}

/** A mask [pixelsAcross·pixelsAcross] of the parts of an outline beside a solid. */
function partsBeside(solid: Float32Array, outline: PlacedView['view']['outline']): Float32Array {
  const sample = newSample();
  const outside = Uint8Array.from(solid, (distance, pixel) => {
    if (distance > -minPart) return 0;
    const [x, y] = [pixel % pixelsAcross, Math.floor(pixel / pixelsAcross)];
    sampleOutline(outline, mapSize, centerOf(x, pixelsAcross), centerOf(y, pixelsAcross), sample);
    return sample.value > 0 ? 255 : 0;
  });
  const { labels, patches } = findPatches({ width: pixelsAcross, height: pixelsAcross, data: outside }, 255);
  const reaching = new Set(labels.filter((_, pixel) => solid[pixel]! <= -minReach));
  return Float32Array.from(labels, (label) => (reaching.has(label) && (patches[label]?.area ?? 0) >= minArea ? 1 : 0));
}
