import type { Matte } from '../base/image.js';

/** A connected patch of a matte: its box (right and bottom exclusive), coverage in pixels, and maximum value. */
export interface Patch {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
  readonly area: number;
  readonly peak: number;
}

export interface Patches {
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
