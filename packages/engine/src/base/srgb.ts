/** Linear light of an sRGB value, both 0..1. Light adds up in linear numbers only, so mixing and shading happen there. */
export const linearOfSrgb = (value: number): number =>
  value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;

/** The same for every sRGB byte. */
export const linearOfByte: Float32Array = Float32Array.from({ length: 256 }, (_, byte) => linearOfSrgb(byte / 255));

const STEPS = 8192;
// Middle of each step. The curve is steepest at black, where a step of this table is still under half a byte.
const byteOfStep = Uint8Array.from({ length: STEPS }, (_, step) => {
  const value = (step + 0.5) / STEPS;
  return Math.round(255 * (value <= 0.0031308 ? 12.92 * value : 1.055 * value ** (1 / 2.4) - 0.055));
});

/** The sRGB byte nearest to a linear value; outside 0..1 it is clamped. */
export function byteOfLinear(value: number): number {
  return byteOfStep[Math.max(0, Math.min(STEPS - 1, Math.floor(value * STEPS)))]!;
}
