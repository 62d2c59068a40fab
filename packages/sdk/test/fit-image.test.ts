import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import sharp from 'sharp';
import { build } from 'tsup';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { toImageUrl } from '../src/image-input.js';
import { heicPhoto, limit, photoOfPhone, red, sent, sideways } from './photos.js';

let phonePhoto: Buffer;
beforeAll(async () => {
  phonePhoto = await photoOfPhone();
});

describe('where sharp is installed,', () => {
  test('a photo of 12 megapixels is scaled to what the server uses', async () => {
    expect(phonePhoto.length).toBeGreaterThan(limit);
    const image = await sent(await toImageUrl(new Blob([new Uint8Array(phonePhoto)])));
    expect(image).toMatchObject({ mediaType: 'image/jpeg', width: 2048, height: 1536, left: red });
  });

  test('a photo that was taken sideways is sent upright', async () => {
    const image = await sent(await toImageUrl(await sideways(phonePhoto)));
    expect(image).toMatchObject({ width: 1536, height: 2048, right: red });
  });

  test('a large cutout keeps its transparency', async () => {
    const pixels = new Uint8Array(4 * 2600 * 2000).map((_, i) => (i % 4 === 3 ? 0 : (i * 7919) % 251));
    const cutout = sharp(pixels, { raw: { width: 2600, height: 2000, channels: 4 } });
    const image = await sent(await toImageUrl(await cutout.png({ compressionLevel: 0 }).toBuffer()));
    expect(image).toMatchObject({ mediaType: 'image/webp', left: [0, 0, 0, 0] });
  });

  const small = () => sharp({ create: { width: 60, height: 40, channels: 3, background: '#f00' } });
  test.each([
    ['GIF', small().gif(), 'image/webp'],
    ['AVIF', small().avif(), 'image/jpeg'],
    ['TIFF', small().tiff(), 'image/jpeg'],
    ['a wide-gamut TIFF', small().withIccProfile('p3').tiff(), 'image/jpeg'],
  ])('%s is converted', async (_, image, mediaType) => {
    const converted = await sent(await toImageUrl(await image.toBuffer()));
    expect(converted).toEqual({
      mediaType: expect.stringMatching(mediaType),
      width: 60,
      height: 40,
      left: red,
      right: red,
    });
  });
});

test('HEIC becomes an upright JPEG with its colors, and a damaged one is an error with a remedy', async () => {
  const url = await toImageUrl(heicPhoto);
  const jpeg = Buffer.from(url.slice(url.indexOf(',') + 1), 'base64');
  expect(await sharp(jpeg).metadata()).toMatchObject({ format: 'jpeg', width: 480, height: 384 });
  // The HEIC is stored sideways and in Display P3. Without its profile, the mean difference is 2.7 of 255.
  const teapot = fileURLToPath(new URL('../../../examples/photos/teapot.jpg', import.meta.url));
  const original = await sharp(teapot).resize(480, 384).raw().toBuffer();
  const converted = await sharp(jpeg).raw().toBuffer();
  const mean = converted.reduce((sum, value, index) => sum + Math.abs(value - original[index]!), 0) / converted.length;
  expect(mean).toBeLessThan(2);
  const heic = await readFile(heicPhoto);
  for (const length of [400, 9_000]) {
    await expect(toImageUrl(heic.subarray(0, length))).rejects.toThrow(
      'The image is a HEIC photo that cannot be decoded here. Check that the file is complete',
    );
  }
});

describe('where images cannot be converted,', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gen3d-sdk-bare-'));
    const entry = { input: fileURLToPath(new URL('../src/image-input.ts', import.meta.url)) };
    const outExtension = () => ({ js: '.mjs' });
    await build({ entry, outDir: folder, format: 'esm', outExtension, noExternal: [/./], silent: true, config: false });
    await writeFile(join(folder, 'phone.jpg'), phonePhoto);
    await writeFile(join(folder, 'image.gif'), 'GIF89a');
    await copyFile(heicPhoto, join(folder, 'photo.heic'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  test.each([
    ['phone.jpg', /phone\.jpg is \d+\.\d MiB, more than the 4 MiB .*http\(s\) URL \(up to 25 MiB\).*npm install sharp/],
    ['image.gif', /image\.gif is a GIF\. Send a PNG, JPEG or WebP, or install sharp/],
    [
      'photo.heic',
      /photo\.heic is a HEIC photo\. Convert it to JPEG first, or install sharp and libheif-js \(npm install/,
    ],
  ])('%s is rejected with a remedy', async (name, message) => {
    const script = `import('./input.mjs').then(({ toImageUrl }) => toImageUrl('${name}')).catch((e) => console.log(e.message))`;
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', script], { cwd: folder });
    expect(stdout).toMatch(message);
  });
});
