import type { TriangleMesh } from '../base/mesh.js';
import { projectPoints, type View } from './view.js';

/** What each pixel of a view sees. Rows run from the top; pixels are sampled at their centres. */
export interface Raster {
  readonly width: number;
  readonly height: number;
  /** [width·height]: distance along the view axis in model units, Infinity where nothing was hit. */
  readonly depth: Float32Array;
  /** [width·height]: which triangle, counted in threes of `indices`, -1 where nothing was hit. */
  readonly triangle: Int32Array;
  /** [2·width·height]: weights of the triangle's second and third corner, perspective-correct; the first has the rest. */
  readonly barycentrics: Float32Array;
}

export interface RasteriseOptions {
  /** Leave out triangles seen from inside, as a viewer does with a single-sided material. Default false. */
  readonly cullBackFaces?: boolean;
}

/** Nearer than this, in model units, a corner counts as behind the camera: an object never reaches its own camera. */
const NEAR = 1e-4;

/**
 * Corners are snapped to this share of a pixel. Edge functions of such numbers are exact in doubles, so a pixel
 * centre on the edge of two triangles belongs to both, and a closed surface shows no cracks. Float32 holds them
 * exactly on pictures of up to 16,384 pixels.
 */
const SUBPIXELS = 1024;

/**
 * Draws a mesh into a z-buffer: one rasteriser for pictures, for shadows and for what the photo's camera saw.
 * Of triangles at the same depth the first one wins. A triangle with a corner behind the camera is skipped.
 */
export function rasterise(mesh: TriangleMesh, view: View, { cullBackFaces = false }: RasteriseOptions = {}): Raster {
  const { width, height } = view;
  const raster = {
    width,
    height,
    depth: new Float32Array(width * height).fill(Infinity),
    triangle: new Int32Array(width * height).fill(-1),
    barycentrics: new Float32Array(2 * width * height),
  };
  const corners = projectPoints(view, mesh.positions);
  for (let i = 0; i < corners.length; i += 3) {
    corners[i] = Math.round(corners[i]! * SUBPIXELS) / SUBPIXELS;
    corners[i + 1] = Math.round(corners[i + 1]! * SUBPIXELS) / SUBPIXELS;
  }
  for (let triangle = 0; 3 * triangle < mesh.indices.length; triangle++) {
    drawTriangle(raster, corners, mesh.indices, triangle, cullBackFaces);
  }
  return raster;
}

function drawTriangle(
  raster: Raster,
  corners: Float32Array,
  indices: Uint32Array,
  triangle: number,
  cullBackFaces: boolean,
): void {
  const a = 3 * indices[3 * triangle]!;
  const b = 3 * indices[3 * triangle + 1]!;
  const c = 3 * indices[3 * triangle + 2]!;
  const ax = corners[a]!;
  const ay = corners[a + 1]!;
  const bx = corners[b]!;
  const by = corners[b + 1]!;
  const cx = corners[c]!;
  const cy = corners[c + 1]!;

  // Positive for fronts: counter-clockwise turns clockwise to the eye of an axis that points down, hence this order.
  const doubleArea = (cx - ax) * (by - ay) - (bx - ax) * (cy - ay);
  if (doubleArea === 0 || (cullBackFaces && doubleArea < 0)) return;
  // Written so that a NaN is skipped too.
  if (!(corners[a + 2]! > NEAR && corners[b + 2]! > NEAR && corners[c + 2]! > NEAR)) return;

  // Most triangles of a small picture lie between pixel centres, and this is where they end.
  const left = Math.max(0, Math.ceil(Math.min(ax, bx, cx) - 0.5));
  const right = Math.min(raster.width - 1, Math.floor(Math.max(ax, bx, cx) - 0.5));
  if (left > right) return;
  const top = Math.max(0, Math.ceil(Math.min(ay, by, cy) - 0.5));
  const bottom = Math.min(raster.height - 1, Math.floor(Math.max(ay, by, cy) - 0.5));
  if (top > bottom) return;

  // 1/depth, not depth, is linear on the picture. Weights are edge functions; the sign makes insides positive.
  const scaleA = 1 / (Math.abs(doubleArea) * corners[a + 2]!);
  const scaleB = 1 / (Math.abs(doubleArea) * corners[b + 2]!);
  const scaleC = 1 / (Math.abs(doubleArea) * corners[c + 2]!);
  const facing = doubleArea > 0 ? 1 : -1;
  const stepA = facing * (cy - by);
  const stepB = facing * (ay - cy);
  const stepC = facing * (by - ay);

  for (let row = top; row <= bottom; row++) {
    const x = left + 0.5;
    const y = row + 0.5;
    let weightA = facing * ((x - bx) * (cy - by) - (cx - bx) * (y - by));
    let weightB = facing * ((x - cx) * (ay - cy) - (ax - cx) * (y - cy));
    let weightC = facing * ((x - ax) * (by - ay) - (bx - ax) * (y - ay));
    let entered = false;
    for (let pixel = row * raster.width + left; pixel <= row * raster.width + right; pixel++) {
      if (weightA >= 0 && weightB >= 0 && weightC >= 0) {
        entered = true;
        const shareB = weightB * scaleB;
        const shareC = weightC * scaleC;
        const depth = 1 / (weightA * scaleA + shareB + shareC);
        if (depth < raster.depth[pixel]!) {
          raster.depth[pixel] = depth;
          raster.triangle[pixel] = triangle;
          raster.barycentrics[2 * pixel] = shareB * depth;
          raster.barycentrics[2 * pixel + 1] = shareC * depth;
        }
      } else if (entered) {
        break;
      }
      weightA += stepA;
      weightB += stepB;
      weightC += stepC;
    }
  }
}
