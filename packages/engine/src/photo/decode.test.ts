import sharp, { type Sharp } from 'sharp';
import { describe, expect, test } from 'vitest';
import type { RgbaImage } from '../base/image.js';
import { decode, maxDecodedSide, readHeader } from './decode.js';
import { png, pngChunk } from './png.fixture.js';

const pixel = ({ width, data }: RgbaImage, x: number, y: number) => [
  ...data.subarray(4 * (y * width + x)).subarray(0, 4),
];

/** Left half red, right half blue. */
function halves(width = 64, height = 32, channels: 3 | 4 = 3): Sharp {
  const data = new Uint8Array(width * height * channels);
  for (let i = 0; i < width * height; i++) {
    data[i * channels + (i % width < width / 2 ? 0 : 2)] = 255;
    if (channels === 4) data[i * channels + 3] = 255;
  }
  return sharp(data, { raw: { width, height, channels } });
}

function expectHalves(image: RgbaImage): void {
  const { width, height } = image;
  const left = pixel(image, width >> 2, height >> 1);
  const right = pixel(image, width - (width >> 2), height >> 1);
  expect(left[0]! - left[2]!, `left is red, not ${left}`).toBeGreaterThan(100);
  expect(right[2]! - right[0]!, `right is blue, not ${right}`).toBeGreaterThan(100);
}

describe('accepted', () => {
  test.each(['png', 'jpeg', 'webp', 'gif', 'avif'] as const)(
    '%s decodes to opaque RGBA of the same size',
    async (format) => {
      const { image, transparent } = await decode(await halves().toFormat(format).toBuffer());
      expect(image).toMatchObject({ width: 64, height: 32 });
      expect(image.data).toHaveLength(4 * 64 * 32);
      expect(transparent).toBe(false);
      expectHalves(image);
    },
  );

  test('EXIF orientation is applied', async () => {
    // Orientation 6: the left of the file is the top of the image.
    const { image } = await decode(await halves().jpeg().withMetadata({ orientation: 6 }).toBuffer());
    expect(image).toMatchObject({ width: 32, height: 64 });
    expect(pixel(image, 16, 8)[0]).toBeGreaterThan(200);
    expect(pixel(image, 16, 56)[2]).toBeGreaterThan(200);
  });

  test('a CMYK JPEG becomes sRGB', async () => {
    const bytes = await halves().toColorspace('cmyk').jpeg().toBuffer();
    expect((await sharp(bytes).metadata()).space).toBe('cmyk');
    expectHalves((await decode(bytes)).image);
  });

  test('8-bit gray, 16-bit gray and color versions of one photo decode to the same pixels', async () => {
    const gray = sharp({ create: { width: 64, height: 64, channels: 3, background: '#777' } }).composite([
      { input: { create: { width: 64, height: 20, channels: 3, background: '#c3c3c3' } }, left: 0, top: 8 },
    ]);
    const pixels = await gray.greyscale().png().toBuffer();
    const versions = [
      pixels,
      await sharp(pixels).toColourspace('grey16').png().toBuffer(),
      await sharp(pixels).toColourspace('srgb').png().toBuffer(),
    ];
    const decoded = await Promise.all(versions.map((bytes) => decode(bytes)));
    for (const { image } of decoded) expect(Buffer.from(image.data).equals(decoded[0]!.image.data)).toBe(true);
  });

  describe('a PNG of linear light', () => {
    /** The PNG with a chunk between its header and the rest. */
    const withChunk = (file: Buffer, type: string, data: Uint8Array) =>
      Buffer.concat([file.subarray(0, 33), pngChunk(type, data), file.subarray(33)]);
    const gamma = (value: number) => {
      const data = Buffer.alloc(4);
      data.writeUInt32BE(Math.round(100_000 * value));
      return data;
    };
    /** A plain image: half of the light, and a hundredth of it, of 16 bits a channel. */
    const linear = (alpha = 1) =>
      sharp(
        Uint16Array.from({ length: 4 * 32 * 32 }, (_, i) => 65_535 * [0.5, 0.01, 0, alpha][i % 4]!),
        {
          raw: { width: 32, height: 32, channels: 4 },
        },
      )
        .toColorspace('rgb16')
        .png()
        .toBuffer();

    test('is converted to sRGB as its gAMA chunk says, without a change of alpha', async () => {
      const { image } = await decode(withChunk(await linear(0.5), 'gAMA', gamma(1)));
      const color = pixel(image, 16, 16);
      // The sRGB bytes of these shares of light.
      for (const [channel, expected] of [188, 25, 0, 128].entries())
        expect(Math.abs(color[channel]! - expected), `channel ${channel} of ${color}`).toBeLessThanOrEqual(1);
    });

    test('is converted with 8 bits a channel too', async () => {
      const bytes = withChunk(await halves().linear(0.5).png().toBuffer(), 'gAMA', gamma(1));
      expect(Math.abs(pixel((await decode(bytes)).image, 8, 8)[0]! - 188)).toBeLessThanOrEqual(1);
    });

    test.each([
      ['its gamma is that of sRGB', (png: Buffer) => withChunk(png, 'gAMA', gamma(0.45455))],
      ['it has an sRGB chunk', (png: Buffer) => withChunk(withChunk(png, 'gAMA', gamma(1)), 'sRGB', Uint8Array.of(0))],
    ])('is not converted if %s', async (_, change) => {
      const { image } = await decode(change(await linear()));
      expect(Math.abs(pixel(image, 16, 16)[0]! - 128)).toBeLessThanOrEqual(1);
    });
  });

  test.each([
    ['baseline', { progressive: false }],
    ['progressive', { progressive: true }],
  ])('a %s JPEG without its end marker decodes if all of its lines are there', async (_, options) => {
    const whole = await halves(200, 160).jpeg(options).toBuffer();
    const { image } = await decode(whole.subarray(0, -2));
    expect(image).toEqual((await decode(whole)).image);
    for (const kept of [0.5, 0.8]) {
      const cut = whole.subarray(0, Math.round(kept * whole.length));
      await expect(decode(cut), `${kept}`).rejects.toMatchObject({ code: 'image_invalid' });
    }
  });

  test('an animation becomes its first frame', async () => {
    const frames = [halves(), halves().rotate(180)].map((frame) => frame.png().toBuffer());
    const animated = await sharp(await Promise.all(frames), { join: { animated: true } })
      .webp({ lossless: true })
      .toBuffer();
    expect((await sharp(animated).metadata()).pages).toBe(2);
    const { image } = await decode(animated);
    expect(image).toMatchObject({ width: 64, height: 32 });
    expectHalves(image);
  });

  test('alpha is kept, straight and not premultiplied', async () => {
    const glass = sharp({
      create: { width: 32, height: 32, channels: 4, background: { r: 200, g: 100, b: 50, alpha: 0.5 } },
    });
    const { image, transparent } = await decode(await glass.png().toBuffer());
    expect(transparent).toBe(true);
    expect(pixel(image, 3, 3)).toEqual([200, 100, 50, 128]);
  });

  test('a large photo is scaled down to the working size, keeping its proportions', async () => {
    const { image } = await decode(await halves(5000, 2500).jpeg().toBuffer());
    expect(image).toMatchObject({ width: maxDecodedSide, height: maxDecodedSide / 2 });
    expectHalves(image);
  });
});

describe('refused', () => {
  test('a PNG bomb of 30000 x 30000 pixels is image_too_large before it is decoded', async () => {
    // A few rows of zeros.
    const bomb = png(30_000, 30_000, Buffer.alloc(1_000_000), { hasAlpha: false });
    const before = process.cpuUsage();
    await expect(decode(bomb)).rejects.toMatchObject({
      code: 'image_too_large',
      message: 'The image is 30000 x 30000 pixels; at most 100 megapixels are accepted. Scale it down first.',
    });
    const { user, system } = process.cpuUsage(before);
    expect(user + system).toBeLessThan(1_000_000);
  });

  test('a file with too many bytes is image_too_large', async () => {
    const bytes = await halves().png().toBuffer();
    await expect(decode(bytes, { maxBytes: bytes.length - 1 })).rejects.toMatchObject({ code: 'image_too_large' });
    await expect(decode(bytes, { maxBytes: bytes.length })).resolves.toBeDefined();
  });

  test.each(['png', 'jpeg', 'webp', 'gif', 'avif'] as const)('a %s cut short is image_invalid', async (format) => {
    const bytes = await noise().toFormat(format).toBuffer();
    const short = bytes.subarray(0, Math.floor(bytes.length * 0.6));
    await expect(decode(short)).rejects.toMatchObject({ code: 'image_invalid' });
  });

  test('an SVG, a TIFF, and a HEIC photo, as some phones save them, are image_invalid and named', async () => {
    const svg = '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" width="64" height="64"/>';
    for (const [name, bytes] of [
      ['SVG', Buffer.from(svg)],
      ['TIFF', await halves().tiff().toBuffer()],
      ['HEIC', Buffer.from('\0\0\0\x18ftypheic\0\0\0\0mif1heic', 'latin1')],
    ] as const) {
      const refusal = { code: 'image_invalid', message: expect.stringContaining(name) };
      await expect(decode(bytes)).rejects.toMatchObject(refusal);
    }
  });

  test.each([
    ['empty', ''],
    ['an HTML page', '\xef\xbb\xbf <!doctype html><title>Not found</title>'],
    ['a PDF document', '%PDF-1.7'],
    ['JSON', '{"error":"not found"}'],
    ['a video', '\0\0\0\x20ftypisom'],
  ])('a file that is %s is image_invalid, with a message that says so', async (name, text) => {
    await expect(decode(Buffer.from(text, 'latin1'))).rejects.toMatchObject({
      code: 'image_invalid',
      message: `The file is ${name}. Send a PNG, JPEG, WebP, GIF or AVIF.`,
    });
  });

  test('a file with only a PNG signature is image_invalid', async () => {
    const bytes = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
    await expect(decode(bytes)).rejects.toMatchObject({ code: 'image_invalid' });
  });

  // Images of 1024 x 1024 pixels, and the MiB of memory that the decoder needs.
  test.each([
    ['an interlaced PNG of 16 bits', (image: Sharp) => image.toColorspace('rgb16').png({ progressive: true }), 8],
    ['a progressive JPEG', (image: Sharp) => image.jpeg({ progressive: true, chromaSubsampling: '4:4:4' }), 6],
    ['a lossless WebP', (image: Sharp) => image.webp({ lossless: true }), 4],
  ] as const)('%s that needs too much memory is image_too_large before it is decoded', async (_, encode, mebibytes) => {
    const bytes = await encode(halves(1024, 1024, 4)).toBuffer();
    const maxMemoryBytes = mebibytes * 1024 * 1024;
    await expect(decode(bytes, { maxMemoryBytes })).resolves.toBeDefined();
    await expect(decode(bytes, { maxMemoryBytes: maxMemoryBytes - 1 })).rejects.toMatchObject({
      code: 'image_too_large',
      message: expect.stringContaining('neither interlaced nor progressive'),
    });
  });

  test('a PNG or JPEG that is decoded row by row needs little memory', async () => {
    for (const bytes of [await halves(1024, 1024).png().toBuffer(), await halves(1024, 1024).jpeg().toBuffer()]) {
      expect(await readHeader(bytes)).toEqual({ width: 1024, height: 1024, memoryBytes: 0 });
    }
  });

  test('an image of one pixel is image_invalid', async () => {
    await expect(decode(await halves(1, 1).png().toBuffer())).rejects.toMatchObject({
      code: 'image_invalid',
      message: 'The image is 1 x 1 pixels; each side must have at least 16 for an object to be visible.',
    });
  });
});

/** Noise, which compresses badly, so that cutting the file removes pixels and not a trailer. */
function noise(width = 128, height = 128, channels: 3 | 4 = 3): Sharp {
  const data = Uint8Array.from(
    { length: width * height * channels },
    (_, i) => (Math.imul(i + 1, 2654435761) >>> 24) & 255,
  );
  return sharp(data, { raw: { width, height, channels } });
}
