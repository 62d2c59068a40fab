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
  const near = dilate(kept, width, height, fringe);

  const cleaned = new Uint8Array(width * height);
  for (let i = 0; i < cleaned.length; i++) {
    if (kept[i] === 1 || (near[i] === 1 && labels[i] === -1)) cleaned[i] = data[i]!;
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

/** Sets every pixel within `radius` of a set one, in a square. */
function dilate(mask: Uint8Array, width: number, height: number, radius: number): Uint8Array {
  const rows = new Uint8Array(mask.length);
  const both = new Uint8Array(mask.length);
  for (let y = 0; y < height; y++) spread(mask, rows, y * width, 1, width, radius);
  for (let x = 0; x < width; x++) spread(rows, both, x, width, height, radius);
  return both;
}

function spread(from: Uint8Array, to: Uint8Array, start: number, step: number, length: number, radius: number): void {
  let last = Number.NEGATIVE_INFINITY;
  let next = 0;
  for (let i = 0; i < length; i++) {
    while (next < length && next <= i + radius) {
      if (from[start + next * step] === 1) last = next;
      next++;
    }
    // `last` is the last set pixel up to i + radius, and so the nearest one that can reach back to i.
    if (last >= i - radius) to[start + i * step] = 1;
  }
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

  for (let seed = 0; seed < data.length; seed++) {
    if (labels[seed] !== -1 || data[seed]! < threshold) continue;
    const label = patches.length;
    let [left, top, right, bottom, sum, peak] = [width, height, 0, 0, 0, 0];
    let depth = 0;
    stack[depth++] = seed;
    labels[seed] = label;
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
      // Pixels are labeled when pushed, so each is pushed once and the stack cannot overflow.
      if (x > 0 && labels[at - 1] === -1 && data[at - 1]! >= threshold) {
        labels[at - 1] = label;
        stack[depth++] = at - 1;
      }
      if (x + 1 < width && labels[at + 1] === -1 && data[at + 1]! >= threshold) {
        labels[at + 1] = label;
        stack[depth++] = at + 1;
      }
      if (y > 0 && labels[at - width] === -1 && data[at - width]! >= threshold) {
        labels[at - width] = label;
        stack[depth++] = at - width;
      }
      if (y + 1 < height && labels[at + width] === -1 && data[at + width]! >= threshold) {
        labels[at + width] = label;
        stack[depth++] = at + width;
      }
    }
    patches.push({ left, top, right, bottom, area: sum / 255, peak });
  }
  return { labels, patches };
}
