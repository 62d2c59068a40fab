import type { Camera } from '../base/camera.js';
import type { Cutout } from '../base/image.js';
import type { TriangleMesh } from '../base/mesh.js';
import type { DensityField, Elevation } from '../field/density-field.js';
import { sampleGrid } from '../field/sample-grid.js';
import { colorChannels, matteChannel } from '../photo/frame.js';
import { interpolate, type Raster, rasterize } from '../render/rasterize.js';
import { photoView, type View } from '../render/view.js';
import { clean } from '../surface/clean.js';
import { marchingCubes } from '../surface/marching-cubes.js';
import { vertexNormals } from '../surface/normals.js';
import { smooth } from '../surface/smooth.js';

/** Pixels a side of all maps. Coarse, because a fit draws hundreds of views. */
export const mapSize = 64;

/** Cells along the longest side of the guide's surface. */
const guideResolution = 56;

/** The object as the photo shows it. Maps are [mapSize·mapSize], rows from the top. */
export interface Evidence {
  /** 1 inside the matte. */
  readonly outline: Uint8Array;
  /** [3·mapSize·mapSize] colors of the photo, sRGB in 0..1. */
  readonly colors: Float32Array;
  /** The visible surface, if another reconstructor computed it. */
  readonly front: FrontMap | undefined;
  /** That reconstructor's estimate of the camera's angle above the object. */
  readonly elevation: Elevation | undefined;
}

/** @param guide another reconstructor's field of the same cutout */
export async function gatherEvidence(cutout: Cutout, guide: DensityField | undefined): Promise<Evidence> {
  return {
    outline: Uint8Array.from(matteChannel(cutout, mapSize), (coverage) => (coverage > 0.5 ? 1 : 0)),
    colors: colorChannels(cutout, mapSize),
    front: guide && (await guideFront(guide)),
    elevation: guide?.elevation,
  };
}

/** Computes the intersection over union of the photo's outline and a view's, which is where its depths are finite. */
export function outlineAgreement(depth: Float32Array, outline: Uint8Array): number {
  let [both, either] = [0, 0];
  for (let i = 0; i < outline.length; i++) {
    const seen = depth[i]! < Infinity;
    if (seen && outline[i]!) both++;
    if (seen || outline[i]!) either++;
  }
  return both / either;
}

/**
 * Computes the mean difference, 0..1, between the photo's colors and those of a surface in a view, where both have
 * colors.
 *
 * @param colors [3·V] of the mesh's vertices, sRGB in 0..1
 */
export function colorDifference(mesh: TriangleMesh, colors: Float32Array, raster: Raster, evidence: Evidence): number {
  let [sum, count] = [0, 0];
  const color = new Float64Array(3);
  for (let pixel = 0; pixel < raster.triangle.length; pixel++) {
    if (raster.triangle[pixel]! < 0 || !evidence.outline[pixel]) continue;
    interpolate(colors, mesh, raster, pixel, color);
    for (let i = 0; i < 3; i++) sum += Math.abs(color[i]! - evidence.colors[3 * pixel + i]!);
    count += 3;
  }
  return count > 0 ? sum / count : 1;
}

async function guideFront(guide: DensityField): Promise<FrontMap> {
  const surface = smooth(clean(marchingCubes(await sampleGrid(guide, guideResolution), guide.threshold)), 8);
  const view = photoView(guide.camera, mapSize);
  return frontMap(surface, vertexNormals(surface), rasterize(surface, view), view, guide.camera);
}

/** Maps the visible surface in a view of P pixels. NaN and zeros where there is none. */
export interface FrontMap {
  /** [P] height above the plane at `camera.distance`, toward the camera, in half widths of the frame there. */
  readonly height: Float32Array;
  /** [3·P] unit normals in the camera's frame. */
  readonly normals: Float32Array;
}

/** @param normals [3·V] of the mesh's vertices */
export function frontMap(
  mesh: TriangleMesh,
  normals: Float32Array,
  raster: Raster,
  { rotation }: View,
  { distance, halfTangent }: Camera,
): FrontMap {
  const { depth, triangle } = raster;
  const normal = new Float64Array(3);
  const map = { height: new Float32Array(depth.length).fill(Number.NaN), normals: new Float32Array(3 * depth.length) };
  for (let pixel = 0; pixel < depth.length; pixel++) {
    if (triangle[pixel]! < 0) continue;
    map.height[pixel] = (distance - depth[pixel]!) / (distance * halfTangent);
    interpolate(normals, mesh, raster, pixel, normal);
    const [x, y, z] = [normal[0]!, normal[1]!, normal[2]!];
    const length = Math.hypot(x, y, z) || 1;
    for (let row = 0; row < 3; row++) {
      const along = rotation[3 * row]! * x + rotation[3 * row + 1]! * y + rotation[3 * row + 2]! * z;
      map.normals[3 * pixel + row] = along / length;
    }
  }
  return map;
}
