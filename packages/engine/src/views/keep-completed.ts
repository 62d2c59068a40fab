import type { TriangleMesh } from '../base/mesh.js';
import { outlineOf } from '../field/columns.js';
import { type DensityField, evaluateEach } from '../field/density-field.js';
import { minimize } from '../field/nelder-mead.js';
import { sampleGrid } from '../field/sample-grid.js';
import { findCuboid } from '../field/solids/cuboid/find-cuboid.js';
import { frontOf } from '../field/solids/solid.js';
import { depthMap } from '../render/rasterize.js';
import { marchingCubes } from '../surface/marching-cubes.js';
import { viewOf } from '../texture/bake-views.js';
import type { PlacedView } from './bend.js';
import type { FusedField } from './fuse.js';
import { centerOf, mapSize, newSample, sampleOutline } from './map.js';
import { withMissingParts } from './missing-parts.js';
import type { PreparedView } from './prepared-view.js';
import { multiply, rotationOf, type ViewCamera } from './view-camera.js';

// A box or a solid of revolution that was completed from the front photo is more exact than what several photos give. It
// stays if the outlines of the other photos agree with it, once their cameras are moved to fit it best.

/** Minimum intersection over union of each outline with the solid's. */
const minOverlap = 0.95;

/** Cells along the longest side of the solid, and pixels a side of its outlines. */
const cells = 40;
const pixelsAcross = 80;

/** First steps of yaw, pitch and roll in radians, of x and y, and of the logarithm of the size. */
const searchSteps = [0.06, 0.05, 0.03, 0.03, 0.03, 0.05];
const searchRounds = 90;
/** Turns at which the search starts, in radians, until one agrees: a handle may be on the wrong side of the outline. */
const startYaws = [0, -0.2, 0.2];

/** A completed field, and the cameras in its space. */
export interface Completed {
  readonly field: DensityField;
  readonly cameras: readonly ViewCamera[];
}

/**
 * Keeps a solid of revolution.
 *
 * @param alone the field of the front photo alone, in the space of its own camera
 * @param placed the views in the space of the registered front, which is the first
 * @returns undefined if an outline disagrees
 */
export async function keepRevolution(
  alone: DensityField,
  placed: readonly PlacedView[],
): Promise<Completed | undefined> {
  const offset = placed[0]!.camera.reliefOffset;
  const atRelief = placed.map(({ view, camera }) => ({ view, camera: movedAlongFront(camera, offset) }));
  const cameras = await camerasOf(alone, atRelief);
  return cameras && { field: alone, cameras };
}

/**
 * Finds the cuboid again, in the fused field, because the other photos show its depth. Then adds the parts that only
 * they show.
 *
 * @param fused the field of the views, in the space of the registered front
 * @returns undefined if there is none, or an outline disagrees
 */
export async function keepCuboid(fused: FusedField, placed: readonly PlacedView[]): Promise<Completed | undefined> {
  const outline = outlineOf(placed[0]!.view.prediction, fused.camera);
  const cuboid = findCuboid(outline, frontOf(fused.densityAt, outline, fused.bounds, fused.elevation.radians));
  if (!cuboid) return undefined;
  const { density, ...solid } = cuboid;
  const field = { ...fused, ...solid, projects: true, bumpyBehind: false, evaluate: evaluateEach(density) };
  const cameras = await camerasOf(field, placed);
  if (!cameras) return undefined;
  const moved = placed.map(({ view }, i) => ({ view, camera: cameras[i]! }));
  return { field: await withMissingParts(field, fused, moved), cameras };
}

/** Moves cameras to where a solid's outline fits best. Undefined if one does not fit. */
async function camerasOf(completed: DensityField, placed: readonly PlacedView[]): Promise<ViewCamera[] | undefined> {
  const mesh = marchingCubes(await sampleGrid(completed, cells), completed.threshold);
  if (mesh.indices.length === 0) return undefined;
  const [front, ...others] = placed;
  const { distance, halfTangent } = completed.camera;
  const cameras: ViewCamera[] = [{ ...front!.camera, distance, halfTangent }];
  for (const { view, camera: start } of others) {
    const cameraAt = ([yaw, pitch, roll, x, y, size]: readonly number[]): ViewCamera => ({
      ...start,
      rotation: multiply(rotationOf(0, pitch!, roll!), multiply(start.rotation, rotationOf(yaw!, 0, 0))),
      ...{ x: start.x + x!, y: start.y + y!, distance: start.distance * Math.exp(size!) },
    });
    const costAt = (moves: readonly number[]) => 1 - overlapOf(mesh, cameraAt(moves), view);
    let moves: readonly number[] = [];
    for (const yaw of startYaws) {
      moves = minimize(costAt, [yaw, 0, 0, 0, 0, 0], searchSteps, searchRounds);
      if (1 - costAt(moves) >= minOverlap) break;
    }
    if (1 - costAt(moves) < minOverlap) return undefined;
    cameras.push(cameraAt(moves));
  }
  return cameras;
}

/** Moves a camera as if the front photo's relief were nearer by the offset. */
const movedAlongFront = (camera: ViewCamera, offset: number): ViewCamera => ({
  ...camera,
  x: camera.x + camera.rotation[2]! * offset,
  y: camera.y + camera.rotation[5]! * offset,
  distance: camera.distance - camera.rotation[8]! * offset,
});

const sample = newSample();

/** Intersection over union of a mesh's outline and a photo's. */
function overlapOf(mesh: TriangleMesh, camera: ViewCamera, { outline }: PreparedView): number {
  const { depth } = depthMap(mesh, viewOf(camera, pixelsAcross));
  let [both, either] = [0, 0];
  for (let i = 0; i < depth.length; i++) {
    const u = centerOf(i % pixelsAcross, pixelsAcross);
    const v = centerOf(Math.floor(i / pixelsAcross), pixelsAcross);
    sampleOutline(outline, mapSize, u, v, sample);
    const isShown = sample.value > 0;
    const isSolid = depth[i]! < Infinity;
    if (isShown || isSolid) either++;
    if (isShown && isSolid) both++;
  }
  return either === 0 ? 0 : both / either;
}
