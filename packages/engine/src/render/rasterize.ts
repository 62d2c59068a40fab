import type { TriangleMesh } from '../base/mesh.js';
import { projectPoints, type View } from './view.js';

/** Records the triangle and depth that a view's pixels see. Rows are from the top; samples are at pixel centers. */
export interface Raster {
  readonly width: number;
  readonly height: number;
  /** [width·height]: distance along the view axis in model units, Infinity where nothing was hit. */
  readonly depth: Float32Array;
  /** [width·height]: index of the triangle, -1 where nothing was hit. */
  readonly triangle: Int32Array;
  /** [2·width·height]: weights of the triangle's second and third corner, perspective-correct. */
  readonly barycentrics: Float32Array;
}

/** Records only the depth that each pixel of a view sees. */
export type DepthMap = Pick<Raster, 'width' | 'height' | 'depth'>;

/** A corner nearer than this, in model units, counts as behind the camera. */
const near = 1e-4;

/**
 * Corners are snapped to 1/1024 of a pixel. Edge functions of such numbers are exact in doubles, so a pixel center on
 * the edge of two triangles belongs to both, and a closed surface has no cracks. Float32 holds them exactly in images
 * of up to 16,384 pixels.
 */
const subpixels = 1024;

/**
 * Draws a mesh into a z-buffer. Of several triangles at the same depth, the first one is drawn. Triangles seen from
 * inside are skipped, as viewers do for a single-sided material, and those with a corner behind the camera.
 */
export function rasterize(mesh: TriangleMesh, view: View): Raster {
  const pixels = view.width * view.height;
  const hits = { triangle: new Int32Array(pixels).fill(-1), barycentrics: new Float32Array(2 * pixels) };
  return { ...draw(mesh, view, hits), ...hits };
}

/** Draws only the depths of a view, for shadows and for the visibility from the photo's camera. */
export function depthMap(mesh: TriangleMesh, view: View): DepthMap {
  return draw(mesh, view);
}

/**
 * Mixes an attribute's values at the corners of the triangle that a pixel hit. `result` has the length of one value.
 */
export function interpolate(
  attribute: Float32Array,
  { indices }: TriangleMesh,
  { triangle, barycentrics }: Raster,
  pixel: number,
  result: Float64Array,
): void {
  const size = result.length;
  const corner = 3 * triangle[pixel]!;
  const a = size * indices[corner]!;
  const b = size * indices[corner + 1]!;
  const c = size * indices[corner + 2]!;
  const weightB = barycentrics[2 * pixel]!;
  const weightC = barycentrics[2 * pixel + 1]!;
  const weightA = 1 - weightB - weightC;
  for (let i = 0; i < size; i++) {
    result[i] = weightA * attribute[a + i]! + weightB * attribute[b + i]! + weightC * attribute[c + i]!;
  }
}

type Hits = Pick<Raster, 'triangle' | 'barycentrics'>;

function draw(mesh: TriangleMesh, view: View, hits?: Hits): DepthMap {
  const { width, height } = view;
  const map = { width, height, depth: new Float32Array(width * height).fill(Infinity) };
  const corners = projectPoints(view, mesh.positions);
  for (let i = 0; i < corners.length; i += 3) {
    // Math.round takes three times as long.
    corners[i] = Math.floor(corners[i]! * subpixels + 0.5) / subpixels;
    corners[i + 1] = Math.floor(corners[i + 1]! * subpixels + 0.5) / subpixels;
  }
  for (let triangle = 0; 3 * triangle < mesh.indices.length; triangle++) {
    drawTriangle(map, corners, mesh.indices, triangle, hits);
  }
  return map;
}

function drawTriangle(
  { width, height, depth: depths }: DepthMap,
  corners: Float32Array,
  indices: Uint32Array,
  triangle: number,
  hits: Hits | undefined,
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

  // Positive for front faces: with y down, counter-clockwise becomes clockwise, hence this order.
  const doubleArea = (cx - ax) * (by - ay) - (bx - ax) * (cy - ay);
  if (doubleArea <= 0) return;
  // This form also skips NaN.
  if (!(corners[a + 2]! > near && corners[b + 2]! > near && corners[c + 2]! > near)) return;

  // In a small image, most triangles are between pixel centers and end here.
  const left = Math.max(0, Math.ceil(Math.min(ax, bx, cx) - 0.5));
  const right = Math.min(width - 1, Math.floor(Math.max(ax, bx, cx) - 0.5));
  if (left > right) return;
  const top = Math.max(0, Math.ceil(Math.min(ay, by, cy) - 0.5));
  const bottom = Math.min(height - 1, Math.floor(Math.max(ay, by, cy) - 0.5));
  if (top > bottom) return;

  // 1/depth, not depth, is linear in the image. Weights are edge functions.
  const scaleA = 1 / (doubleArea * corners[a + 2]!);
  const scaleB = 1 / (doubleArea * corners[b + 2]!);
  const scaleC = 1 / (doubleArea * corners[c + 2]!);
  const stepA = cy - by;
  const stepB = ay - cy;
  const stepC = by - ay;

  for (let row = top; row <= bottom; row++) {
    const x = left + 0.5;
    const y = row + 0.5;
    let weightA = (x - bx) * (cy - by) - (cx - bx) * (y - by);
    let weightB = (x - cx) * (ay - cy) - (ax - cx) * (y - cy);
    let weightC = (x - ax) * (by - ay) - (bx - ax) * (y - ay);
    let entered = false;
    for (let pixel = row * width + left; pixel <= row * width + right; pixel++) {
      if (weightA >= 0 && weightB >= 0 && weightC >= 0) {
        entered = true;
        const shareB = weightB * scaleB;
        const shareC = weightC * scaleC;
        const depth = 1 / (weightA * scaleA + shareB + shareC);
        if (depth < depths[pixel]!) {
          depths[pixel] = depth;
          if (hits) {
            hits.triangle[pixel] = triangle;
            hits.barycentrics[2 * pixel] = shareB * depth;
            hits.barycentrics[2 * pixel + 1] = shareC * depth;
          }
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

/**
 * Computes how visible a point is, from 0 (hidden) to 1 (fully visible). Compares `depth` with the four pixels around
 * [x, y] and mixes the four results, not the depths, so that an edge is one pixel soft instead of a step.
 *
 * Units: x and y in pixels as `projectPoints` returns them. The caller subtracts from `depth` the bias that keeps a
 * surface from hiding itself. Outside the image the result is 1.
 */
export function visibleShare(map: DepthMap, x: number, y: number, depth: number): number {
  const column = Math.floor(x - 0.5);
  const row = Math.floor(y - 0.5);
  if (!(column >= 0 && row >= 0 && column < map.width - 1 && row < map.height - 1)) return 1;
  const topLeft = row * map.width + column;
  const seesTopLeft = depth <= map.depth[topLeft]!;
  const seesTopRight = depth <= map.depth[topLeft + 1]!;
  const seesBottomLeft = depth <= map.depth[topLeft + map.width]!;
  const seesBottomRight = depth <= map.depth[topLeft + map.width + 1]!;
  // Most points are not near an edge.
  if (seesTopLeft && seesTopRight && seesBottomLeft && seesBottomRight) return 1;
  if (!(seesTopLeft || seesTopRight || seesBottomLeft || seesBottomRight)) return 0;
  const right = x - 0.5 - column;
  const down = y - 0.5 - row;
  const topShare = (seesTopLeft ? 1 - right : 0) + (seesTopRight ? right : 0);
  const bottomShare = (seesBottomLeft ? 1 - right : 0) + (seesBottomRight ? right : 0);
  return topShare * (1 - down) + bottomShare * down;
}
