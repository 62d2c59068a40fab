import { GrowingFloats } from '../base/growing.js';
import type { TexturedMesh } from '../base/mesh.js';
import { sampleColor } from '../base/sample-color.js';
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
  baseColor: LinearImage,
  raster: Raster,
  studio: Studio,
  block: number,
): Float32Array {
  const { points, normals, pointOf } = litPoints(mesh, raster, sameSurfaceRadii * studio.radius, block);
  const light = gatherLight(studio, points, normals);
  const colors = new Float32Array(3 * raster.width * raster.height);
  const uv = new Float64Array(2);
  const color = new Float64Array(3);
  for (let sample = 0; sample < pointOf.length; sample++) {
    if (raster.triangle[sample]! < 0) continue;
    interpolate(mesh.uvs, mesh, raster, sample, uv);
    sampleColor(baseColor, uv[0]!, uv[1]!, color);
    const point = 3 * pointOf[sample]!;
    colors[3 * sample] = color[0]! * light[point]!;
    colors[3 * sample + 1] = color[1]! * light[point + 1]!;
    colors[3 * sample + 2] = color[2]! * light[point + 2]!;
  }
  return colors;
}

interface LitPoints {
  /** [3·N] the points on the surface where light is gathered. */
  readonly points: Float32Array;
  /** [3·N], of unit length. */
  readonly normals: Float32Array;
  /** [width·height] the number of the point whose light a sample has, valid where a triangle was hit. */
  readonly pointOf: Uint32Array;
}

/** Chooses a sample of each surface in each block. */
function litPoints(mesh: TexturedMesh, raster: Raster, sameDepth: number, block: number): LitPoints {
  const points = new GrowingFloats();
  const normals = new GrowingFloats();
  const pointOf = new Uint32Array(raster.width * raster.height);
  const position = new Float64Array(3);
  const normal = new Float64Array(3);
  const litNormal = new Float64Array(3);
  for (let top = 0; top < raster.height; top += block) {
    for (let left = 0; left < raster.width; left += block) {
      let litDepth = -Infinity;
      let litTriangle = -1;
      for (let row = top; row < top + block; row++) {
        for (let sample = row * raster.width + left; sample < row * raster.width + left + block; sample++) {
          const triangle = raster.triangle[sample]!;
          if (triangle < 0) continue;
          if (triangle !== litTriangle) {
            interpolate(mesh.normals, mesh, raster, sample, normal);
            normalize(normal);
            const depth = raster.depth[sample]!;
            if (Math.abs(depth - litDepth) > sameDepth || dot(normal, litNormal) < sameSurfaceCosine) {
              interpolate(mesh.positions, mesh, raster, sample, position);
              for (let axis = 0; axis < 3; axis++) {
                points.push(position[axis]!);
                normals.push(normal[axis]!);
              }
              litNormal.set(normal);
              litDepth = depth;
              litTriangle = triangle;
            }
          }
          pointOf[sample] = points.length / 3 - 1;
        }
      }
    }
  }
  return { points: points.toArray(), normals: normals.toArray(), pointOf };
}

/**
 * Mixes an attribute's values at the corners of the triangle that a sample hit. `result` has the length of one value.
 */
function interpolate(
  attribute: Float32Array,
  mesh: TexturedMesh,
  raster: Raster,
  sample: number,
  result: Float64Array,
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

function normalize(vector: Float64Array): void {
  const length = Math.sqrt(dot(vector, vector)) || 1;
  for (let axis = 0; axis < 3; axis++) vector[axis]! /= length;
}

function dot(a: Float64Array, b: Float64Array): number {
  return a[0]! * b[0]! + a[1]! * b[1]! + a[2]! * b[2]!;
}
