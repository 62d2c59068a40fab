import sharp from 'sharp';
import { expect, test } from 'vitest';
import { decode } from './decode.js';
import { shrinkPhoto } from './shrink.js';

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

test('a photo of a phone that is too large to send fits afterwards, at the size it would be decoded to', async () => {
  const photo = await noise(3).jpeg({ quality: 98 }).toBuffer();
  expect(photo.byteLength).toBeGreaterThan(maxBytes);
  const shrunk = await shrinkPhoto(photo, maxBytes);
  expect(shrunk.byteLength).toBeLessThanOrEqual(maxBytes);
  const { image } = await decode(shrunk);
  const original = (await decode(photo)).image;
  expect([image.width, image.height]).toEqual([original.width, original.height]);
});

test('a cut-out keeps its transparency', async () => {
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

test('a photo that fits is left alone', async () => {
  const photo = await sharp({ create: { width: 50, height: 50, channels: 3, background: '#123' } })
    .png()
    .toBuffer();
  expect(await shrinkPhoto(photo, maxBytes)).toEqual(photo);
});
