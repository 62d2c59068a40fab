import { byteOfLinear } from '../base/image.js';

/** The gamma that sRGB's curve is closest to, as PNG's gAMA chunk has it. */
const srgbGamma = 0.45455;

/** A gamma that differs less than this from sRGB's looks the same. */
const minDifference = 0.02;

/** These chunks say more of the colors than gAMA does, so decoders obey them instead. */
const colorChunks: ReadonlySet<string> = new Set(['iCCP', 'sRGB', 'cICP']);

/**
 * Finds the gamma of a PNG whose pixels are not sRGB, such as 1 for linear light, which renderers write.
 *
 * @returns the exponent that made the file's values of light; undefined if they are sRGB or the file does not say
 * @see PNG Specification (Third Edition), 11.3.2.2 gAMA, and 13.14 on the precedence of color chunks
 */
export function gammaOfPng(bytes: Uint8Array): number | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let gamma: number | undefined;
  // Chunks follow the signature of 8 bytes. Those about color are before the pixels.
  for (let at = 8; at + 12 <= bytes.length; ) {
    const length = view.getUint32(at);
    const type = String.fromCharCode(...bytes.subarray(at + 4, at + 8));
    if (type === 'IDAT' || colorChunks.has(type)) {
      if (type !== 'IDAT') return undefined;
      break;
    }
    if (type === 'gAMA' && length === 4) gamma = view.getUint32(at + 8) / 100_000;
    at += 12 + length;
  }
  return gamma && Math.abs(gamma - srgbGamma) >= minDifference ? gamma : undefined;
}

/**
 * Converts the colors of an image from a file's gamma to sRGB.
 *
 * @param values [4·pixels] RGBA of 8 or 16 bits; alpha is linear in any file
 * @returns [4·pixels] RGBA of 8 bits
 */
export function gammaToSrgb(values: Uint8Array | Uint16Array, gamma: number): Uint8Array {
  const max = values instanceof Uint16Array ? 65_535 : 255;
  const bytes = Uint8Array.from({ length: max + 1 }, (_, value) => byteOfLinear((value / max) ** (1 / gamma)));
  const converted = new Uint8Array(values.length);
  for (let i = 0; i < values.length; i++)
    converted[i] = i % 4 === 3 ? Math.round((255 * values[i]!) / max) : bytes[values[i]!]!;
  return converted;
}
