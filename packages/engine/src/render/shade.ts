import { sampleBilinear } from '../base/interpolation.js';
import type { TexturedMesh } from '../base/mesh.js';
import type { LinearImage } from '../base/srgb.js';
import type { Raster } from './rasterize.js';
import { gatherLight, type Studio } from './studio.js';

/** Two samples are on one surface if the cosine of their normals and the distance of their depths are within these. */
const sameSurfaceCosine = 0.98;
const sameSurfaceRadii = 0.02;

/**
 * The color of every sample of `raster` that hit the mesh, in linear light, Float32Array [3·width·height].
 *
 * Light changes slowly, unlike texture and silhouettes. So light is gathered once for a block of `block` x `block`
 * samples, and again only where the block straddles an edge, while texture is read for each sample.
 */
export function shadeObject(
  mesh: TexturedMesh,
  { width, height, data: baseColor }: LinearImage,
  raster: Raster,
  studio: Studio,
  block: number,
): Float32Array {
  const colors = new Float32Array(3 * raster.width * raster.height);
  const position = new Float32Array(3);
  const normal = new Float32Array(3);
  const uv = new Float32Array(2);
  const litNormal = new Float32Array(3);
  const light = new Float32Array(3);
  const sameDepth = sameSurfaceRadii * studio.radius;
  for (let top = 0; top < raster.height; top += block) {
    for (let left = 0; left < raster.width; left += block) {
      let litDepth = -Infinity;
      let litTriangle = -1;
      for (let sample = 0; sample < block * block; sample++) {
        const at = (top + Math.floor(sample / block)) * raster.width + left + (sample % block);
        if (raster.triangle[at]! < 0) continue;
        if (raster.triangle[at] !== litTriangle) {
          interpolate(mesh.normals, mesh, raster, at, normal);
          normalize(normal);
          const depth = raster.depth[at]!;
          if (Math.abs(depth - litDepth) > sameDepth || dot(normal, litNormal) < sameSurfaceCosine) {
            interpolate(mesh.positions, mesh, raster, at, position);
            gatherLight(studio, position, normal, light);
            litNormal.set(normal);
            litDepth = depth;
            litTriangle = raster.triangle[at]!;
          }
        }
        interpolate(mesh.uvs, mesh, raster, at, uv);
        const [x, y] = [uv[0]! * width - 0.5, uv[1]! * height - 0.5];
        for (let c = 0; c < 3; c++) {
          colors[3 * at + c] = sampleBilinear(baseColor, width, height, x, y, 3, c) * light[c]!;
        }
      }
    }
  }
  return colors;
}

/**
 * Mixes an attribute's values at the corners of the triangle that a sample hit. `result` has the length of one value.
 */
function interpolate(
  attribute: Float32Array,
  mesh: TexturedMesh,
  raster: Raster,
  sample: number,
  result: Float32Array,
): void {
  const size = result.length;
  const corner = 3 * raster.triangle[sample]!;
  const a = size * mesh.indices[corner]!;
  const b = size * mesh.indices[corner + 1]!;
  const c = size * mesh.indices[corner + 2]!;
  const weightB = raster.barycentrics[2 * sample]!;
  const weightC = raster.barycentrics[2 * sample + 1]!;
  const weightA = 1 - weightB - weightC;
  for (let i = 0; i < size; i++) {
    result[i] = weightA * attribute[a + i]! + weightB * attribute[b + i]! + weightC * attribute[c + i]!;
  }
}

function normalize(vector: Float32Array): void {
  const length = Math.sqrt(dot(vector, vector)) || 1;
  for (let axis = 0; axis < 3; axis++) vector[axis]! /= length;
}

function dot(a: Float32Array, b: Float32Array): number {
  return a[0]! * b[0]! + a[1]! * b[1]! + a[2]! * b[2]!;
}
