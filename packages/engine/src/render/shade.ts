import type { RgbaImage } from '../base/image.js';
import type { TexturedMesh } from '../base/mesh.js';
import { linearOfByte } from '../base/srgb.js';
import type { Raster } from './rasterise.js';
import { gatherLight, type Studio } from './studio.js';

/** Samples whose normals differ by less than this and whose depths differ by less than the next lie on one surface. */
const SAME_SURFACE_COSINE = 0.98;
const SAME_SURFACE_RADII = 0.02;

/**
 * The colour of every sample of `raster` that hit the mesh, in linear light, Float32Array [3·width·height].
 *
 * Light changes slowly, texture and silhouettes don't: so light is gathered once for a block of `block` x `block`
 * samples and again only where the block straddles an edge, while texture is read for each sample.
 */
export function shadeObject(
  mesh: TexturedMesh,
  baseColor: RgbaImage,
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
  const sameDepth = SAME_SURFACE_RADII * studio.radius;
  for (let top = 0; top < raster.height; top += block) {
    for (let left = 0; left < raster.width; left += block) {
      let litDepth = -Infinity;
      let litTriangle = -1;
      for (let sample = 0; sample < block * block; sample++) {
        const at = (top + Math.floor(sample / block)) * raster.width + left + (sample % block);
        if (raster.triangle[at]! < 0) continue;
        if (raster.triangle[at] !== litTriangle) {
          interpolate(mesh.normals, mesh, raster, at, normal);
          normalise(normal);
          const depth = raster.depth[at]!;
          if (Math.abs(depth - litDepth) > sameDepth || dot(normal, litNormal) < SAME_SURFACE_COSINE) {
            interpolate(mesh.positions, mesh, raster, at, position);
            gatherLight(studio, position, normal, light);
            litNormal.set(normal);
            litDepth = depth;
            litTriangle = raster.triangle[at]!;
          }
        }
        interpolate(mesh.uvs, mesh, raster, at, uv);
        sampleLinear(baseColor, uv[0]!, uv[1]!, colors, 3 * at);
        for (let channel = 0; channel < 3; channel++) colors[3 * at + channel]! *= light[channel]!;
      }
    }
  }
  return colors;
}

/** Mixes an attribute's values at the three corners of the triangle that a sample hit; `result` has one element's length. */
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

function normalise(vector: Float32Array): void {
  const length = Math.sqrt(dot(vector, vector)) || 1;
  for (let axis = 0; axis < 3; axis++) vector[axis]! /= length;
}

function dot(a: Float32Array, b: Float32Array): number {
  return a[0]! * b[0]! + a[1]! * b[1]! + a[2]! * b[2]!;
}

/** Reads the texture between its four nearest texels, clamped at the border, into `result[at .. at + 2]` as linear light. */
function sampleLinear(image: RgbaImage, u: number, v: number, result: Float32Array, at: number): void {
  const { width, height, data } = image;
  const x = Math.min(width - 1, Math.max(0, u * width - 0.5));
  const y = Math.min(height - 1, Math.max(0, v * height - 0.5));
  const left = Math.floor(x);
  const top = Math.floor(y);
  const right = x - left;
  const down = y - top;
  const topLeft = 4 * (top * width + left);
  const nextColumn = left < width - 1 ? 4 : 0;
  const nextRow = top < height - 1 ? 4 * width : 0;
  for (let channel = 0; channel < 3; channel++) {
    const texel = topLeft + channel;
    const above = linearOfByte[data[texel]!]! * (1 - right) + linearOfByte[data[texel + nextColumn]!]! * right;
    const below =
      linearOfByte[data[texel + nextRow]!]! * (1 - right) + linearOfByte[data[texel + nextRow + nextColumn]!]! * right;
    result[at + channel] = above * (1 - down) + below * down;
  }
}
