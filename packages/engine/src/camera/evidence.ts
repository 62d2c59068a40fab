import type { Cutout } from '../base/image.js';
import type { DensityField, Elevation } from '../field/density-field.js';
import { sampleGrid } from '../field/sample-grid.js';
import { matteChannel } from '../photo/frame.js';
import { rasterize } from '../render/rasterize.js';
import { photoView } from '../render/view.js';
import { clean } from '../surface/clean.js';
import { marchingCubes } from '../surface/marching-cubes.js';
import { vertexNormals } from '../surface/normals.js';
import { smooth } from '../surface/smooth.js';
import { type FrontMap, frontMap } from './front-map.js';

/** Pixels a side of all maps. Coarse, because a fit draws hundreds of views. */
export const mapSize = 64;

/** Cells along the longest side of the guide's surface. */
const guideResolution = 56;

/** Evidence about the object in the photo. Maps are [mapSize·mapSize], rows from the top. */
export interface Evidence {
  /** 1 inside the matte. */
  readonly outline: Uint8Array;
  /** The visible surface that another reconstructor computed. */
  readonly front: FrontMap | undefined;
  /** Its estimate of the camera's angle above the object. */
  readonly elevation: Elevation | undefined;
}

/** @param guide another reconstructor's field of the same cutout */
export async function gatherEvidence(cutout: Cutout, guide: DensityField | undefined): Promise<Evidence> {
  return {
    outline: Uint8Array.from(matteChannel(cutout, mapSize), (coverage) => (coverage > 0.5 ? 1 : 0)),
    front: guide && (await guideFront(guide)),
    elevation: guide?.elevation,
  };
}

async function guideFront(guide: DensityField): Promise<FrontMap> {
  const surface = smooth(clean(marchingCubes(await sampleGrid(guide, guideResolution), guide.threshold)), 8);
  const view = photoView(guide.camera, mapSize);
  return frontMap(surface, vertexNormals(surface), rasterize(surface, view), view, guide.camera);
}
