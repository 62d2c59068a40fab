import { growingFloats } from '../base/growing.js';
import type { RgbaImage } from '../base/image.js';
import { sampleColor } from '../base/interpolation.js';
import type { TexturedMesh } from '../base/mesh.js';
import { interpolate, type Raster } from './rasterize.js';
import { gatherLight, type Studio } from './studio.js';

/** Two samples are on one surface if the cosine of their normals and the distance of their depths are within these. */
const sameSurfaceCosine = 0.98;
const sameSurfaceRadii = 0.02;

/**
 * Computes the color of each sample of a raster that hit the mesh.
 *
 * Light changes slowly, unlike texture and silhouettes. So light is gathered once for a block of `block` x `block`
 * samples, and again only where the block straddles an edge, while texture is read for each sample.
 */
export class ObjectShader {
  /** Linear color of the sample that was shaded last. */
  readonly color = new Float64Array(3);
  readonly #mesh: TexturedMesh;
  readonly #baseColor: RgbaImage;
  readonly #raster: Raster;
  readonly #pointOf: Uint32Array;
  readonly #light: Float32Array;
  readonly #uv = new Float64Array(2);
  readonly #vertexColor = new Float64Array(3);

  constructor(mesh: TexturedMesh, baseColor: RgbaImage, raster: Raster, studio: Studio, block: number) {
    const { points, normals, pointOf } = litPoints(mesh, raster, sameSurfaceRadii * studio.radius, block);
    this.#mesh = mesh;
    this.#baseColor = baseColor;
    this.#raster = raster;
    this.#pointOf = pointOf;
    this.#light = gatherLight(studio, points, normals);
  }

  /** @param sample one that hit the mesh */
  shade(sample: number): void {
    interpolate(this.#mesh.uvs, this.#mesh, this.#raster, sample, this.#uv);
    sampleColor(this.#baseColor, this.#uv[0]!, this.#uv[1]!, this.color);
    if (this.#mesh.colors) {
      interpolate(this.#mesh.colors, this.#mesh, this.#raster, sample, this.#vertexColor);
      for (let channel = 0; channel < 3; channel++) this.color[channel]! *= this.#vertexColor[channel]!;
    }
    const point = 3 * this.#pointOf[sample]!;
    this.color[0]! *= this.#light[point]!;
    this.color[1]! *= this.#light[point + 1]!;
    this.color[2]! *= this.#light[point + 2]!;
  }
}

interface LitPoints {
  /** [3·N] the points on the surface where light is gathered. */
  readonly points: Float32Array;
  /** [3·N], of unit length. */
  readonly normals: Float32Array;
  /** [width·height] the index of the point whose light a sample uses, valid where a triangle was hit. */
  readonly pointOf: Uint32Array;
}

/** Chooses a sample of each surface in each block. */
function litPoints(mesh: TexturedMesh, raster: Raster, sameDepth: number, block: number): LitPoints {
  const points = growingFloats();
  const normals = growingFloats();
  const pointOf = new Uint32Array(raster.width * raster.height);
  const position = new Float64Array(3);
  const normal = new Float64Array(3);
  const litNormal = new Float64Array(3);
  for (let top = 0; top < raster.height; top += block) {
    for (let left = 0; left < raster.width; left += block) {
      let litDepth = -Infinity;
      // The last triangle that belongs to the lit surface.
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
            }
            litTriangle = triangle;
          }
          pointOf[sample] = points.length / 3 - 1;
        }
      }
    }
  }
  return { points: points.toArray(), normals: normals.toArray(), pointOf };
}

function normalize(vector: Float64Array): void {
  const length = Math.sqrt(dot(vector, vector)) || 1;
  for (let axis = 0; axis < 3; axis++) vector[axis]! /= length;
}

function dot(a: Float64Array, b: Float64Array): number {
  return a[0]! * b[0]! + a[1]! * b[1]! + a[2]! * b[2]!;
}
