import sharp from 'sharp';
import { expect, test } from 'vitest';
import { decode } from './decode.js';
import { normalizeImage, shrinkPhoto } from './encode.js';

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

const maxBytes = 4 * 1024 * 1024;
const noise = (channels: 3 | 4) =>
  sharp({
    create: {
      width: 2600,
      height: 2000,
      channels,
      background: '#888',
      noise: { type: 'gaussian', mean: 128, sigma: 40 },
    },
  });

test('a photo that is too large to send is shrunk to the size that it is decoded to', async () => {
  const photo = await noise(3).jpeg({ quality: 98 }).toBuffer();
  expect(photo.byteLength).toBeGreaterThan(maxBytes);
  const shrunk = await shrinkPhoto(photo, maxBytes);
  expect(shrunk.byteLength).toBeLessThanOrEqual(maxBytes);
  const { image } = await decode(shrunk);
  const original = (await decode(photo)).image;
  expect([image.width, image.height]).toEqual([original.width, original.height]);
});

test('a shrunk cutout keeps its transparency', async () => {
  const side = 2100;
  const rgba = new Uint8Array(4 * side * side).map((_, i) =>
    i % 4 === 3 ? (i % (4 * side) < 2 * side ? 0 : 255) : (i * 7919) % 251,
  );
  const cutout = await sharp(rgba, { raw: { width: side, height: side, channels: 4 } })
    .png()
    .toBuffer();
  const { transparent } = await decode(await shrinkPhoto(cutout, 3 * 1024 * 1024));
  expect(transparent).toBe(true);
});

test('a photo that fits is not re-encoded', async () => {
  const photo = await sharp({ create: { width: 50, height: 50, channels: 3, background: '#123' } })
    .png()
    .toBuffer();
  expect(await shrinkPhoto(photo, maxBytes)).toEqual(photo);
});
