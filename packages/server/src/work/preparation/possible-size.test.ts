import { imageSize } from '@gen3d/schema';
import { expect, test } from 'vitest';
import { sharp } from '../../../../engine/src/base/sharp.js';
import { isPossibleSize } from './possible-size.js';

const image = sharp({ create: { width: 300, height: 17, channels: 4, background: '#f008' } });

test.each([
  ['a PNG', () => image.clone().png()],
  ['a baseline JPEG', () => image.clone().jpeg()],
  [
    'a progressive JPEG with EXIF',
    () =>
      image
        .clone()
        .withExif({ IFD0: { Copyright: 'x'.repeat(500) } })
        .jpeg({ progressive: true }),
  ],
  ['a lossy WebP', () => image.clone().removeAlpha().webp()],
  ['a lossless WebP', () => image.clone().webp({ lossless: true })],
  ['a WebP with alpha', () => image.clone().webp()],
  ['a GIF', () => image.clone().gif()],
])('the size of %s is read from its header', async (_, encode) => {
  expect(imageSize(await encode().toBuffer())).toEqual({ width: 300, height: 17 });
});

test('a file that is cut short anywhere, or that is an AVIF, has no size', async () => {
  for (const encode of [image.clone().png(), image.clone().jpeg(), image.clone().webp(), image.clone().gif()]) {
    const bytes = await encode.toBuffer();
    for (let length = 0; length < 30; length++) {
      const size = imageSize(bytes.subarray(0, length));
      if (size) expect(size).toEqual({ width: 300, height: 17 });
    }
  }
  expect(imageSize(await image.clone().avif().toBuffer())).toBeUndefined();
});

test('a decoded photo has the size in its header, turned or scaled to fit', () => {
  const header = { width: 4000, height: 3000 };
  expect(isPossibleSize({ width: 2048, height: 1536 }, header, 2048)).toBe(true);
  expect(isPossibleSize({ width: 1536, height: 2048 }, header, 2048)).toBe(true);
  expect(isPossibleSize({ width: 2048, height: 2048 }, header, 2048)).toBe(false);
  expect(isPossibleSize({ width: 4000, height: 3000 }, header, 2048)).toBe(false);
  expect(isPossibleSize({ width: 1, height: 2048 }, { width: 1, height: 60_000 }, 2048)).toBe(true);
});
