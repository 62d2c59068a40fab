/**
 * An sRGB image, 8 bits per channel, straight (not premultiplied) alpha, rows from the top: `data` is [4·width·height].
 */
export interface RgbaImage {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array;
}

/** Says how much of each pixel of an image the object covers: 0 (none) to 255 (all). `data` is [width·height]. */
export interface Matte {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array;
}

/** Finds the box of the pixels that are at least `threshold`. Right and bottom are exclusive. Undefined if none are. */
export function boundsOf({ width, height, data }: Matte, threshold: number) {
  let [left, top, right, bottom] = [width, height, 0, 0];
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      if (data[y * width + x]! < threshold) continue;
      if (x < left) left = x;
      if (x >= right) right = x + 1;
      if (y < top) top = y;
      bottom = y + 1;
    }
  }
  return right === 0 ? undefined : { left, top, right, bottom };
}

/** Counts the pixels of the top, bottom, left and right edge of a matte that are at least `threshold`. */
export function edgeCounts({ width, height, data }: Matte, threshold: number) {
  const count = (length: number, at: (i: number) => number) => {
    let covered = 0;
    for (let i = 0; i < length; i++) if (data[at(i)]! >= threshold) covered++;
    return covered;
  };
  return {
    top: count(width, (x) => x),
    bottom: count(width, (x) => (height - 1) * width + x),
    left: count(height, (y) => y * width),
    right: count(height, (y) => y * width + width - 1),
  };
}

/**
 * Contains the object cut out of its photo, in the middle of a square. Reconstruction networks take this as input.
 *
 * `image.width === image.height`, and alpha is the matte. RGB is the object's own color, also where alpha is partial
 * (the background's share is removed), and extends beyond the silhouette, so that sampling near it never picks up
 * background.
 */
export interface Cutout {
  readonly image: RgbaImage;
}

/**
 * Converts an sRGB value to linear light, both 0..1. Light adds up only in linear numbers, which mixing and shading
 * use.
 */
export const linearOfSrgb = (value: number): number =>
  value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;

/** Maps each sRGB byte to its linear value. */
export const linearOfByte = Float32Array.from({ length: 256 }, (_, byte) => linearOfSrgb(byte / 255));

const tableSteps = 8192;
// At the middle of each step. The curve is steepest at black, where a step of this table is still under half a byte.
const byteOfStep = Uint8Array.from({ length: tableSteps }, (_, step) => {
  const value = (step + 0.5) / tableSteps;
  return Math.round(255 * (value <= 0.0031308 ? 12.92 * value : 1.055 * value ** (1 / 2.4) - 0.055));
});

/** Returns the sRGB byte nearest to a linear value. Clamps values outside 0..1. */
export function byteOfLinear(value: number): number {
  return byteOfStep[Math.max(0, Math.min(tableSteps - 1, Math.floor(value * tableSteps)))]!;
}
