import { decode } from '@gen3d/engine';
import { expect, test } from 'vitest';
import { sharp } from '../../../../engine/src/base/sharp.js';
import { encodePng } from './png.js';

test.each([3, 4] as const)('a PNG of %s channels has the pixels that it was made of', async (channels) => {
  const [width, height] = [301, 67];
  const pixels = Uint8Array.from({ length: width * height * channels }, (_, i) => Math.imul(i + 1, 2654435761) >>> 24);
  const png = await encodePng({ width, height, channels, pixels });
  const { data, info } = await sharp(png).raw().toBuffer({ resolveWithObject: true });
  expect(info).toMatchObject({ width, height, channels });
  expect(Buffer.compare(data, pixels)).toBe(0);
  await expect(decode(png, { onlyPng: true })).resolves.toMatchObject({ transparent: channels === 4 });
});
