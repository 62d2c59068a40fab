// Files as other programs write them, followed from the client to what the networks see. Each holds the same drawing: a
// red body with a blue handle on its right and a green knob on top.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { crc32 } from 'node:zlib';
import sharp, { type Sharp } from 'sharp';
import { describe, expect, test } from 'vitest';
import type { Matte, RgbaImage } from '../../engine/src/base/image.js';
import { decode } from '../../engine/src/photo/decode.js';
import { matte, type PredictMatte } from '../../engine/src/photo/matte.js';
import { dataUriOf, readImage } from '../src/image-input.js';

const maskedHeic = fileURLToPath(new URL('../../cli/test/photos/masked.heic', import.meta.url));

const [width, height] = [96, 64];
const body = { x: 40, y: 38, color: [200, 40, 30] } as const;
const handle = { x: 70, y: 36, color: [30, 60, 200] } as const;
const knob = { x: 40, y: 10, color: [30, 150, 50] } as const;
const parts = [body, handle, knob];
const rgb = (color: readonly number[]) => `rgb(${color.join(',')})`;

const shapes =
  `<circle cx="40" cy="38" r="22" fill="${rgb(body.color)}"/>` +
  `<rect x="63" y="26" width="14" height="20" fill="${rgb(handle.color)}"/>` +
  `<circle cx="40" cy="10" r="7" fill="${rgb(knob.color)}"/>`;
const svg = (content: string) =>
  Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">${content}</svg>`);
const drawing = () => sharp(svg(`<rect width="100%" height="100%" fill="#ece8e0"/>${shapes}`)).removeAlpha();
const cutout = () => sharp(svg(shapes)).ensureAlpha();

/** Prepares an image as a client does, and decodes it as the server does. */
async function asTheEngineSeesIt(bytes: Uint8Array) {
  const source = await readImage(bytes);
  if (typeof source === 'string') throw new Error(`${source} is a URL`);
  return decode(Buffer.from((await dataUriOf(source)).split(',')[1]!, 'base64'));
}

const pixel = ({ data, width }: RgbaImage, x: number, y: number) => [
  ...data.subarray(4 * (y * width + x)).subarray(0, 3),
];

function expectDrawing(image: RgbaImage): void {
  expect(image).toMatchObject({ width, height });
  for (const { x, y, color } of parts) {
    const found = pixel(image, x, y);
    const difference = Math.max(...color.map((value, channel) => Math.abs(value - found[channel]!)));
    expect(difference, `${found} at ${x}, ${y} instead of ${color}`).toBeLessThan(24);
  }
}

/** The drawing as a camera stores it with EXIF orientation `value`: the inverse of what a reader applies. */
async function stored(value: number): Promise<Sharp> {
  const pixels = await drawing().png().toBuffer();
  const turned = { 3: 180, 4: 180, 5: 90, 6: 270, 7: 90, 8: 90 }[value];
  const image = sharp(turned === undefined ? pixels : await sharp(pixels).rotate(turned).png().toBuffer());
  const isMirrored = value === 2 || value === 4 || value === 5 || value === 7;
  const mirrored = value === 7 ? image.flip() : isMirrored ? image.flop() : image;
  return mirrored.withMetadata({ orientation: value });
}

const jpeg = () => drawing().jpeg({ quality: 95, chromaSubsampling: '4:4:4' }).toBuffer();

/** A JPEG with an additional segment right after its start marker. */
async function withSegment(marker: number, content: Buffer): Promise<Buffer> {
  const bytes = await jpeg();
  const head = Buffer.from([0xff, marker, 0, 0]);
  head.writeUInt16BE(content.length + 2, 2);
  return Buffer.concat([bytes.subarray(0, 2), head, content, bytes.subarray(2)]);
}

describe('the networks see the drawing, upright and in its colors, from', () => {
  const formats = ['jpeg', 'png', 'webp', 'tiff'] as const;
  test.each(formats)('a %s of each orientation', async (format) => {
    for (const value of [1, 2, 3, 4, 5, 6, 7, 8]) {
      const bytes = await (await stored(value)).toFormat(format, { quality: 95 }).toBuffer();
      expect((await sharp(bytes).metadata()).orientation, `${value}`).toBe(value);
      expectDrawing((await asTheEngineSeesIt(bytes)).image);
    }
  });

  test.each([...formats, 'avif'] as const)('a %s in Display P3', async (format) => {
    const bytes = await drawing().withIccProfile('p3').toFormat(format, { quality: 95 }).toBuffer();
    expect((await sharp(bytes).metadata()).icc).toBeDefined();
    expectDrawing((await asTheEngineSeesIt(bytes)).image);
  });

  test.each<[string, () => Promise<Buffer>]>([
    [
      'a JPEG with a broken color profile',
      () => withSegment(0xe2, Buffer.from('ICC_PROFILE\0\x01\x01broken', 'latin1')),
    ],
    ['a progressive JPEG', () => drawing().jpeg({ quality: 95, progressive: true }).toBuffer()],
    ['a JPEG without its end marker', async () => (await jpeg()).subarray(0, -2)],
    ['a JPEG with fill bytes before a marker', async () => spliced(await jpeg(), 2, Buffer.of(0xff, 0xff))],
    [
      'a JPEG followed by a second one',
      async () =>
        Buffer.concat([
          await jpeg(),
          await sharp(await jpeg())
            .resize(24)
            .jpeg()
            .toBuffer(),
        ]),
    ],
    ['a photo followed by 9 MB of video', async () => Buffer.concat([await jpeg(), Buffer.alloc(9_000_000, 7)])],
    ['a PNG with a palette', () => drawing().png({ palette: true }).toBuffer()],
    ['a 16-bit PNG', () => drawing().toColorspace('rgb16').png().toBuffer()],
    ['an opaque PNG with an alpha channel', () => drawing().ensureAlpha().png().toBuffer()],
  ])('%s', async (_, bytes) => {
    expectDrawing((await asTheEngineSeesIt(await bytes())).image);
  });
});

const spliced = (bytes: Buffer, at: number, added: Buffer) =>
  Buffer.concat([bytes.subarray(0, at), added, bytes.subarray(at)]);

/** Stands in for a matting network: finds the colorful pixels. */
const predictColorful: PredictMatte = async ({ width, height, data }) => {
  const isColorful = (i: number) => {
    const color = data.subarray(4 * i, 4 * i + 3);
    return Math.max(...color) - Math.min(...color) > 60;
  };
  return { width, height, data: Uint8Array.from({ length: width * height }, (_, i) => (isColorful(i) ? 255 : 0)) };
};
const notCalled: PredictMatte = () => expect.fail('the network must not run');

function expectObject({ data, width }: Matte): void {
  for (const { x, y } of parts) expect(data[y * width + x], `${x}, ${y}`).toBeGreaterThan(200);
  for (const [x, y] of [
    [4, 4],
    [90, 60],
    [70, 12],
  ] as const) {
    expect(data[y * width + x], `${x}, ${y}`).toBeLessThan(30);
  }
}

describe('transparency', () => {
  const raw = async (change: (pixel: Uint8Array) => void, image = cutout()) => {
    const { data, info } = await image.raw().toBuffer({ resolveWithObject: true });
    for (let i = 0; i < data.length; i += 4) change(data.subarray(i, i + 4));
    return sharp(data, { raw: info });
  };
  const onWall = () => drawing().ensureAlpha();

  test.each<[string, () => Promise<Buffer>]>([
    ['of a PNG', () => cutout().png().toBuffer()],
    ['of a WebP', () => cutout().webp({ lossless: true }).toBuffer()],
    ['of 16 bits', () => cutout().toColorspace('rgb16').png().toBuffer()],
    ['in gray', () => cutout().toColorspace('b-w').png().toBuffer()],
    ['of a palette', () => cutout().png({ palette: true }).toBuffer()],
    ['in another color space', () => cutout().withIccProfile('p3').png().toBuffer()],
    ['over garbage', async () => (await raw((pixel) => pixel[3] === 0 && pixel.set([255, 0, 255]))).png().toBuffer()],
    ['of one color of an RGB image', () => keyed()],
    // The drawing on its wall, of which only the alpha channel hides the wall, as masked on an iPhone.
    ['of a HEIC', () => readFile(maskedHeic)],
  ])('%s cuts out the object, without a network', async (_, bytes) => {
    const found = await matte(await asTheEngineSeesIt(await bytes()), notCalled);
    expect(found.isFramed).toBe(false);
    expectObject(found.matte);
  });

  test.each<[string, () => Promise<Buffer>]>([
    ['nowhere', () => onWall().png().toBuffer()],
    ['of 254 everywhere', async () => (await raw((pixel) => pixel.set([254], 3), onWall())).png().toBuffer()],
  ])('%s leaves the object to the network', async (_, bytes) => {
    expectObject((await matte(await asTheEngineSeesIt(await bytes()), predictColorful)).matte);
  });
});

/** An RGB PNG whose tRNS chunk makes one color transparent. */
async function keyed(): Promise<Buffer> {
  const key = sharp(svg(`<rect width="100%" height="100%" fill="#0f0"/>${shapes}`)).removeAlpha();
  const content = Buffer.concat([Buffer.from('tRNS'), Buffer.from([0, 0, 0, 255, 0, 0])]);
  const chunk = Buffer.alloc(4 + content.length + 4);
  chunk.writeUInt32BE(content.length - 4);
  content.copy(chunk, 4);
  chunk.writeUInt32BE(crc32(content), 4 + content.length);
  const png = await key.png().toBuffer();
  return spliced(png, png.indexOf('IDAT') - 4, chunk);
}

test('a PNG with a wrong checksum is refused as damaged', async () => {
  const png = await drawing().png().toBuffer();
  png[png.length - 20]! ^= 0xff;
  await expect(asTheEngineSeesIt(png)).rejects.toMatchObject({ code: 'image_invalid' });
});
