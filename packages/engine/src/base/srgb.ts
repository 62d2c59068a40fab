import type { RgbaImage } from './image.js';

/**
 * Converts an sRGB value to linear light, both 0..1. Light adds up only in linear numbers, which mixing and shading
 * use.
 */
export const linearOfSrgb = (value: number): number =>
  value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;

/** Maps each sRGB byte to its linear value. */
const linearOfByte = Float32Array.from({ length: 256 }, (_, byte) => linearOfSrgb(byte / 255));

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

/** An image in linear light, without alpha: `data` is [3·width·height], the channels of a pixel side by side. */
export interface LinearImage {
  readonly width: number;
  readonly height: number;
  readonly data: Float32Array;
}

export function linearImage({ width, height, data }: RgbaImage): LinearImage {
  const linear = new Float32Array(3 * width * height);
  for (let i = 0; i < width * height; i++) {
    for (let c = 0; c < 3; c++) linear[3 * i + c] = linearOfByte[data[4 * i + c]!]!;
  }
  return { width, height, data: linear };
}
