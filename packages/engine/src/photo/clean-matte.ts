import type { Matte } from '../base/image.js';

/** Pixels of at least this coverage form patches. A patch is an object only if its peak reaches `objectPeak`. */
const patchThreshold = 32;
const objectPeak = 128;

/** Minimum share of the image that an object covers: 23 x 23 pixels of 1024 x 1024. Anything smaller is noise. */
const minObjectShare = 0.0005;

/** A patch of this share of the main one is a second object (the other shoe) and not an island, wherever it is. */
const companionShare = 0.05;

/**
 * Smaller patches stay if they are this near to the main one, as a share of its box's diagonal: a detached tip, a ball
 * at a foot.
 */
const nearbyDistance = 0.04;

/** Maximum width, in pixels, of a kept patch's soft edge below `patchThreshold`. */
const fringe = 3;

/**
 * Removes haze and tiny islands far from the main object; keeps its soft edges and everything that may belong to it.
 *
 * @returns undefined if nothing in the matte is an object
 */
export function cleanMatte(matte: Matte): Matte | undefined {
  const { width, height, data } = matte;
  const { labels, patches } = findPatches(matte, patchThreshold);
  const objects = patches.filter(({ peak }) => peak >= objectPeak);
  if (objects.length === 0) return undefined;
  const main = objects.reduce((best, patch) => (prominence(patch, matte) > prominence(best, matte) ? patch : best));
  if (main.area < minObjectShare * width * height) return undefined;

  const reach = nearbyDistance * Math.hypot(main.right - main.left, main.bottom - main.top);
  const keeps = patches.map((patch) =>
    patch.area >= companionShare * main.area ? patch.peak >= objectPeak : gap(patch, main) <= reach,
  );
  const kept = new Uint8Array(width * height);
  for (let i = 0; i < kept.length; i++) kept[i] = keeps[labels[i]!] ? 1 : 0;
  const cleaned = new Uint8Array(width * height);
  for (let i = 0; i < cleaned.length; i++) {
    if (kept[i] === 1 || (data[i]! > 0 && labels[i] === -1 && isNear(kept, width, height, i))) cleaned[i] = data[i]!;
  }
  return { width, height, data: cleaned };
}

/** Weights a patch's coverage, down to a third toward the corners: a photo's subject is large and in the middle. */
function prominence({ left, right, top, bottom, area }: Patch, { width, height }: Matte): number {
  const x = (left + right) / width - 1;
  const y = (top + bottom) / height - 1;
  return area / (1 + x * x + y * y);
}

/** Computes the distance between the boxes of two patches. */
export function gap(a: Patch, b: Patch): number {
  const dx = Math.max(0, a.left - b.right, b.left - a.right);
  const dy = Math.max(0, a.top - b.bottom, b.top - a.bottom);
  return Math.hypot(dx, dy);
}

/** Whether a pixel within `fringe` of a pixel, in a square, is kept. */
function isNear(kept: Uint8Array, width: number, height: number, at: number): boolean {
  const x = at % width;
  const y = (at - x) / width;
  const right = Math.min(x + fringe, width - 1);
  for (let row = Math.max(0, y - fringe); row <= Math.min(y + fringe, height - 1); row++) {
    for (let column = Math.max(0, x - fringe); column <= right; column++) if (kept[row * width + column]) return true;
  }
  return false;
}

/** A connected patch of a matte: its box (right and bottom exclusive), coverage in pixels, and maximum value. */
export interface Patch {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
  readonly area: number;
  readonly peak: number;
}

interface Patches {
  /** [width·height] the index of each pixel's patch, or -1. */
  readonly labels: Int32Array;
  readonly patches: readonly Patch[];
}

/**
 * Finds the 4-connected patches of the pixels at or above `threshold`. One flood fill per patch: linear in the pixels.
 */
export function findPatches({ width, height, data }: Matte, threshold: number): Patches {
  const labels = new Int32Array(width * height).fill(-1);
  const patches: Patch[] = [];
  const stack = new Int32Array(width * height);
  let depth = 0;
  // Pixels are labeled when pushed, so each is pushed once and the stack cannot overflow.
  const push = (pixel: number) => {
    if (labels[pixel] !== -1 || data[pixel]! < threshold) return;
    labels[pixel] = patches.length;
    stack[depth++] = pixel;
  };

  for (let seed = 0; seed < data.length; seed++) {
    if (labels[seed] !== -1 || data[seed]! < threshold) continue;
    let [left, top, right, bottom, sum, peak] = [width, height, 0, 0, 0, 0];
    push(seed);
    while (depth > 0) {
      const at = stack[--depth]!;
      const x = at % width;
      const y = (at - x) / width;
      const value = data[at]!;
      sum += value;
      if (value > peak) peak = value;
      if (x < left) left = x;
      if (x >= right) right = x + 1;
      if (y < top) top = y;
      if (y >= bottom) bottom = y + 1;
      if (x > 0) push(at - 1);
      if (x + 1 < width) push(at + 1);
      if (y > 0) push(at - width);
      if (y + 1 < height) push(at + width);
    }
    patches.push({ left, top, right, bottom, area: sum / 255, peak });
  }
  return { labels, patches };
}
