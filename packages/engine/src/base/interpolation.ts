import { linearOfByte, type RgbaImage } from './image.js';

export const clamp = (value: number, low: number, high: number): number => Math.min(Math.max(value, low), high);

/**
 * Samples one channel of an image bilinearly. Positions beyond the border take the nearest edge value.
 *
 * @param values [channels·width·height] rows from the top, the channels of a pixel side by side
 * @param x in pixels; 0 is the center of the first column, `width - 1` that of the last
 * @param y in pixels, down
 * @param offset where the channel's first value is: its number, or more to skip whole images
 */
export function sampleBilinear(
  values: Float32Array,
  width: number,
  height: number,
  x: number,
  y: number,
  channels = 1,
  offset = 0,
): number {
  const clampedX = clamp(x, 0, width - 1);
  const clampedY = clamp(y, 0, height - 1);
  const left = Math.floor(clampedX);
  const top = Math.floor(clampedY);
  const right = clampedX - left;
  const down = clampedY - top;
  const i = channels * (top * width + left) + offset;
  const nextColumn = left < width - 1 ? channels : 0;
  const nextRow = top < height - 1 ? channels * width : 0;
  const above = values[i]! * (1 - right) + values[i + nextColumn]! * right;
  const below = values[i + nextRow]! * (1 - right) + values[i + nextRow + nextColumn]! * right;
  return above * (1 - down) + below * down;
}

/** Samples a square image of one channel, at a position of -1 (left or top edge) .. 1 (right or bottom edge). */
export const sampleSquare = (values: Float32Array, size: number, u: number, v: number, offset = 0): number =>
  sampleBilinear(values, size, size, ((u + 1) * size - 1) / 2, ((v + 1) * size - 1) / 2, 1, offset);

/** Returns 0 up to `from`, 1 from `to` on, and a smooth curve in between. */
export function smoothStep(from: number, to: number, value: number): number {
  const t = clamp((value - from) / (to - from), 0, 1);
  return t * t * (3 - 2 * t);
}

/** Returns the smaller of two values, or less: where they differ by less than `rounding`, the corner is rounded. */
export function smoothMin(a: number, b: number, rounding: number): number {
  const overlap = Math.max(rounding - Math.abs(a - b), 0) / rounding;
  return Math.min(a, b) - overlap * overlap * rounding * 0.25;
}

/**
 * Samples an image bilinearly and writes the color to `color` [3], in linear light. Positions beyond the border take the
 * nearest edge color.
 *
 * @param u 0..1 from the left edge of the image
 * @param v 0..1 from the top edge
 */
export function sampleColor({ width, height, data }: RgbaImage, u: number, v: number, color: Float64Array): void {
  const x = Math.min(Math.max(u * width - 0.5, 0), width - 1);
  const y = Math.min(Math.max(v * height - 0.5, 0), height - 1);
  const left = Math.floor(x);
  const top = Math.floor(y);
  const right = x - left;
  const down = y - top;
  const topLeft = 4 * (top * width + left);
  const topRight = left < width - 1 ? topLeft + 4 : topLeft;
  const nextRow = top < height - 1 ? 4 * width : 0;
  for (let channel = 0; channel < 3; channel++) {
    const above =
      linearOfByte[data[topLeft + channel]!]! * (1 - right) + linearOfByte[data[topRight + channel]!]! * right;
    const below =
      linearOfByte[data[topLeft + nextRow + channel]!]! * (1 - right) +
      linearOfByte[data[topRight + nextRow + channel]!]! * right;
    color[channel] = above * (1 - down) + below * down;
  }
}
