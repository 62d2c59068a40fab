import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import { expect } from 'vitest';

export const limit = 4 * 1024 ** 2;
export const heicPhoto = fileURLToPath(new URL('../../cli/test/photos/teapot.heic', import.meta.url));

/** A photo of 12 megapixels whose upper left corner is red and that is larger than 4 MiB. */
export function photoOfPhone(): Promise<Buffer> {
  const noise = { type: 'gaussian', mean: 128, sigma: 25 } as const;
  const corner = { create: { width: 1000, height: 1000, channels: 3, background: '#f00' } } as const;
  return sharp({ create: { width: 4032, height: 3024, channels: 3, background: '#888', noise } })
    .composite([{ input: corner, left: 0, top: 0 }])
    .jpeg({ quality: 90 })
    .toBuffer();
}

/** The same pixels, marked as taken with the camera on its side: upright, the red corner is on the right. */
export const sideways = (photo: Buffer) =>
  sharp(photo).withMetadata({ orientation: 6 }).jpeg({ quality: 90 }).toBuffer();

/** The image of a data URI: its format and size, and the colors of its upper left and upper right corners. */
export async function sent(dataUri: string) {
  const [, mediaType, base64 = ''] = /^data:(.*);base64,(.*)$/.exec(dataUri) ?? [];
  const bytes = Buffer.from(base64, 'base64');
  expect(bytes.length).toBeLessThanOrEqual(limit);
  const { data, info } = await sharp(bytes).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
  const at = (x: number, y: number) => [...data.subarray(4 * (y * info.width + x), 4 * (y * info.width + x) + 4)];
  return { mediaType, width: info.width, height: info.height, left: at(20, 20), right: at(info.width - 20, 20) };
}

const near = (color: readonly number[]) => color.map((value) => expect.toSatisfy((got) => Math.abs(got - value) < 12));
export const red = near([255, 0, 0, 255]);
