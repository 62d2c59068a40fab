import { distanceTo } from './distance-transform.js';

// All lengths are in pixels of an outline of 256 pixels a side.

/**
 * Half the width to which thin parts are widened. By default, the grid has 128 cells along an object that fills 220
 * pixels, so a cell is 1.7 pixels wide. Narrower parts fall between its samples.
 */
const minHalfWidth = 1.3;

/**
 * The coverage that a pixel of a thin part exceeds. Pixels with less are more often a guess of the matting network than
 * a wire. Widened, they would become crumbs.
 */
const minCoverage = 0.45;

/** Thin pixels this close to a part that is wide enough are noise of its edge, unless they lead to a thin part. */
const edgeNoise = 2;

/**
 * The maximum number of middle pixels in the square of 9 x 9 around one that is widened. A single wire has 9 to 18, and
 * two that cross have only a few more.
 */
const maxMiddlePixels = 24;

/**
 * Widens the parts of an outline that are too thin for the grid, such as wires, stems and the tips of leaves.
 * Otherwise, they would be torn or missing, and so would what they hold. Parts that are close together, such as the
 * spokes of a bicycle, stay as they are, because they would merge into a plate.
 *
 * A part is thin if a morphological opening with a disk removes it. Disks along the middle of such parts are added to
 * the outline.
 * @param outline [size·size] the signed distance to the outline of `matte`, in pixels, positive inside
 * @param matte [size·size] coverage in 0..1
 * @returns [size·size] the widened outline, or `outline` itself if it has no thin parts
 */
export function widenThinParts(outline: Float32Array, matte: Float32Array, size: number): Float32Array {
  const isWide = outline.map((distance) => (distance > minHalfWidth ? 1 : 0));
  const toWide = distanceTo(isWide, 1, size);
  const isThin = (i: number) => matte[i]! > minCoverage && toWide[i]! > minHalfWidth;
  const middle = middleOf(outline, matte, size, isThin);
  const farFromWide = middle.map((is, i) => (is && toWide[i]! > minHalfWidth + edgeNoise ? 1 : 0));
  if (!farFromWide.includes(1)) return outline;
  const toFar = distanceTo(farFromWide, 1, size);
  const widened = middle.map((is, i) =>
    is && toFar[i]! < 2 * edgeNoise && countAround(middle, i, size) <= maxMiddlePixels ? 1 : 0,
  );
  const toWidened = distanceTo(widened, 1, size);
  return outline.map((distance, i) => Math.max(distance, minHalfWidth - toWidened[i]!));
}

/**
 * Marks the ridges of the outline where it is thin. In at least one direction, a pixel of a ridge is farther inside
 * than one neighbor, and at least as far inside as the opposite one.
 */
function middleOf(outline: Float32Array, matte: Float32Array, size: number, isThin: (i: number) => boolean) {
  // A wire may cover less than half of each pixel, and is then outside the outline. Its coverage still forms a ridge.
  const height = outline.map((distance, i) => matte[i]! + Math.max(distance, 0));
  const middle = new Float32Array(matte.length);
  const directions = [1, size - 1, size, size + 1];
  for (let i = size + 1; i < matte.length - size - 1; i++) {
    if (!isThin(i)) continue;
    const own = height[i]!;
    const isRidge = directions.some((step) => {
      const [before, after] = [height[i - step]!, height[i + step]!];
      return own >= Math.max(before, after) && own > Math.min(before, after);
    });
    if (isRidge) middle[i] = 1;
  }
  return middle;
}

/** Counts the marks in the square of 9 x 9 pixels around a pixel. */
function countAround(marks: Float32Array, pixel: number, size: number): number {
  let count = 0;
  for (let middle = pixel - 4 * size; middle <= pixel + 4 * size; middle += size) {
    for (let i = middle - 4; i <= middle + 4; i++) count += marks[i] ?? 0;
  }
  return count;
}
