import sharp from 'sharp';
import { expect, test } from 'vitest';
import { decode, normalizeImage } from './decode.js';

/** Noise: every pixel differs from its neighbors. */
function detailed(width: number, height: number, channels: 3 | 4) {
  const data = Uint8Array.from(
    { length: width * height * channels },
    (_, i) => (Math.imul(i + 1, 2654435761) >>> 24) & 255,
  );
  return sharp(data, { raw: { width, height, channels } });
}

test.each([
  ['a photo taken sideways', () => detailed(300, 200, 3).jpeg().withMetadata({ orientation: 6 }), 3],
  ['an image with alpha', () => detailed(300, 200, 4).webp({ lossless: true }), 4],
  ['a wide-gamut image', () => detailed(300, 200, 3).withIccProfile('p3').png(), 3],
  ['a large image', () => detailed(3000, 500, 3).jpeg(), 3],
  ['a grayscale image of 16 bits', () => detailed(300, 200, 3).toColorspace('grey16').png(), 3],
] as const)('normalizing %s keeps its decoded pixels', async (_, image, channels) => {
  const bytes = await image().toBuffer();
  const normalized = await normalizeImage(bytes);
  const expected = await decode(bytes);
  const actual = await decode(normalized);
  expect(actual.transparent).toBe(expected.transparent);
  expect(actual.image).toMatchObject({ width: expected.image.width, height: expected.image.height });
  expect(Buffer.compare(actual.image.data, expected.image.data)).toBe(0);
  expect(await sharp(normalized).metadata()).toMatchObject({ format: 'png', depth: 'uchar', channels });
});
