import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import { expect } from 'vitest';

export const limit = 4 * 1024 ** 2;
export const heicPhoto = fileURLToPath(new URL('../../cli/test/photos/teapot.heic', import.meta.url));

/** A noisy photo with a red upper left corner. It has 12 megapixels, unless another width is given. */
export function photoOfPhone(width = 4032): Promise<Buffer> {
  const height = (width * 3) / 4;
  // Repeated noise is fast to make, and still hard to compress.
  const noise = randomBytes(1_000_003).map((value) => 96 + (value >> 2));
  const gray = Buffer.alloc(3 * width * height, noise);
  const corner = { create: { width: width >> 2, height: width >> 2, channels: 3, background: '#f00' } } as const;
  return sharp(gray, { raw: { width, height, channels: 3 } })
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

/** A photo of each kind that people have, and its upright size as clients send it: null if they refuse it. */
export async function photosOfAllKinds(): Promise<{ name: string; photo: Buffer; size: [number, number] | null }[]> {
  const teapot = await readFile(new URL('../../../examples/photos/teapot.jpg', import.meta.url));
  const small = () => sharp(teapot).resize(480, 384);
  const size: [number, number] = [480, 384];
  // sharp writes no BMP: the header of one.
  const bmp = Buffer.alloc(58);
  bmp.write('BM');
  return [
    { name: 'sideways.jpg', photo: await sideways(await small().jpeg().toBuffer()), size: [384, 480] },
    { name: '12 megapixels.jpg', photo: await photoOfPhone(), size: [2048, 1536] },
    { name: 'iphone.heic', photo: await readFile(heicPhoto), size },
    { name: 'photo.avif', photo: await small().avif().toBuffer(), size },
    { name: 'photo.gif', photo: await small().gif().toBuffer(), size },
    { name: 'photo.tiff', photo: await small().tiff({ compression: 'lzw' }).toBuffer(), size },
    { name: 'compressed as jpeg.tiff', photo: await small().tiff({ compression: 'jpeg' }).toBuffer(), size },
    { name: 'photo.webp', photo: await small().webp().toBuffer(), size },
    { name: 'cmyk.jpg', photo: await small().toColorspace('cmyk').jpeg().toBuffer(), size },
    { name: '16 bits.png', photo: await small().toColorspace('rgb16').png().toBuffer(), size },
    { name: 'gray.png', photo: await small().toColorspace('b-w').png().toBuffer(), size },
    { name: 'photo.bmp', photo: bmp, size: null },
  ];
}

/** The upright size of an image, and its pixels at 48x48 as RGB. */
export async function looksOf(bytes: Uint8Array): Promise<{ size: number[]; pixels: number[] }> {
  const image = sharp(bytes).autoOrient().toColorspace('srgb').removeAlpha();
  const { info } = await image.clone().raw().toBuffer({ resolveWithObject: true });
  const pixels = await image.resize(48, 48, { fit: 'fill' }).raw().toBuffer();
  return { size: [info.width, info.height], pixels: [...pixels] };
}
