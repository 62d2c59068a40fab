import { loadPackage } from './optional-package.js';

type DecodeHeic = (photo: {
  readonly buffer: Uint8Array;
}) => Promise<{ width: number; height: number; data: Uint8ClampedArray }>;

/** Where the major brand is in a file. @see ISO/IEC 14496-12, section 4.3 */
const majorBrandAt = 8;

/**
 * Decodes a HEIC or HEIF photo to upright pixels, with its transparency and in its color space. The package uses
 * libheif, which also prints to stdout why it cannot decode a damaged photo.
 *
 * @throws {Error} if the photo cannot be decoded
 */
export async function decodeHeic(heic: Uint8Array) {
  const decode = await loadPackage<DecodeHeic>('heic-decode', 'npm install heic-decode');
  // The package refuses files of other major brands, such as heis, which libheif can decode.
  const buffer = Uint8Array.from(heic);
  buffer.set(new TextEncoder().encode('heic'), majorBrandAt);
  const { data, width, height } = await decode({ buffer });
  return { data, raw: { width, height, channels: 4 as const } };
}

/**
 * Converts Display P3, which iPhones use, to sRGB. The matrix of CSS Color 4 is for linear light. Applied to the values
 * as they are stored, it leaves grays unchanged, and colors of moderate saturation are off by 1.6 of 255 on average,
 * instead of 4.7 without it.
 */
export const displayP3ToSrgb = [
  [1.22494, -0.22494, 0],
  [-0.04206, 1.04206, 0],
  [-0.01964, -0.07864, 1.09827],
];
