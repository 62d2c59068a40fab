import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { chromium } from 'playwright-core';
import sharp from 'sharp';
import { build } from 'tsup';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { toImageUrl } from '../src/image-input.js';

const limit = 4 * 1024 ** 2;
const heicPhoto = fileURLToPath(new URL('../../cli/test/photos/teapot.heic', import.meta.url));

/** A photo of 12 megapixels whose upper left corner is red and that is larger than 4 MiB. */
let phonePhoto: Buffer;
let sidewaysPhoto: Buffer;
beforeAll(async () => {
  const noise = { type: 'gaussian', mean: 128, sigma: 25 } as const;
  const corner = { create: { width: 1000, height: 1000, channels: 3, background: '#f00' } } as const;
  phonePhoto = await sharp({ create: { width: 4032, height: 3024, channels: 3, background: '#888', noise } })
    .composite([{ input: corner, left: 0, top: 0 }])
    .jpeg({ quality: 90 })
    .toBuffer();
  sidewaysPhoto = await sharp(phonePhoto).withMetadata({ orientation: 6 }).jpeg({ quality: 90 }).toBuffer();
});

/** The image of a data URI: its format and size, and the colors of its upper left and upper right corners. */
async function sent(dataUri: string) {
  const [, mediaType, base64 = ''] = /^data:(.*);base64,(.*)$/.exec(dataUri) ?? [];
  const bytes = Buffer.from(base64, 'base64');
  expect(bytes.length).toBeLessThanOrEqual(limit);
  const { data, info } = await sharp(bytes).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
  const at = (x: number, y: number) => [...data.subarray(4 * (y * info.width + x), 4 * (y * info.width + x) + 4)];
  return { mediaType, width: info.width, height: info.height, left: at(20, 20), right: at(info.width - 20, 20) };
}

const near = (color: readonly number[]) => color.map((value) => expect.toSatisfy((got) => Math.abs(got - value) < 12));
const red = near([255, 0, 0, 255]);

describe('where sharp is installed,', () => {
  test('a photo of 12 megapixels is scaled to what the server uses', async () => {
    expect(phonePhoto.length).toBeGreaterThan(limit);
    const image = await sent(await toImageUrl(new Blob([new Uint8Array(phonePhoto)])));
    expect(image).toMatchObject({ mediaType: 'image/jpeg', width: 2048, height: 1536, left: red });
  });

  test('a photo that was taken sideways is sent upright', async () => {
    const image = await sent(await toImageUrl(sidewaysPhoto));
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

test("npm's sharp cannot decode HEIC, and the error does not suggest it", async () => {
  await expect(toImageUrl(heicPhoto)).rejects.toThrow(
    `${heicPhoto} is a HEIC photo, which cannot be decoded here. Convert it to JPEG first. ` +
      '`gen3d create` and the dashboard convert HEIC themselves',
  );
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
    ['photo.heic', /photo\.heic is a HEIC photo\. Convert it to JPEG first\. `gen3d create` and .* themselves$/m],
  ])('%s is rejected with a remedy', async (name, message) => {
    const script = `import('./input.mjs').then(({ toImageUrl }) => toImageUrl('${name}')).catch((e) => console.log(e.message))`;
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', script], { cwd: folder });
    expect(stdout).toMatch(message);
  });
});

const browserPaths = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/google-chrome', '/usr/bin/chromium-browser'];
const executablePath = browserPaths.find((path) => path && existsSync(path));
if (!executablePath) console.warn('SKIPPED: the SDK in a browser. No Chromium was found; set CHROMIUM to its path');

describe.skipIf(!executablePath)('in a browser,', () => {
  async function inBrowser(image: Buffer): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'gen3d-sdk-browser-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const entry = { input: fileURLToPath(new URL('../src/image-input.ts', import.meta.url)) };
    const format = { format: 'iife', globalName: 'input', platform: 'browser' } as const;
    await build({ entry, outDir: folder, ...format, noExternal: [/./], silent: true, config: false });
    const browser = await chromium.launch({ executablePath: executablePath as string, args: ['--no-sandbox'] });
    onTestFinished(() => browser.close());
    const page = await browser.newPage();
    await page.setContent('<input type="file">');
    await page.addScriptTag({ path: join(folder, 'input.global.js') });
    await page.setInputFiles('input', { name: 'photo', mimeType: '', buffer: image });
    return page.evaluate<string>('input.toImageUrl(document.querySelector("input").files[0])');
  }

  test('a sideways photo of 12 megapixels is scaled with a canvas, upright', async () => {
    const image = await sent(await inBrowser(sidewaysPhoto));
    expect(image).toMatchObject({ mediaType: 'image/jpeg', width: 1536, height: 2048, right: red });
  });

  test('HEIC is rejected with a remedy, because Chromium cannot decode it', async () => {
    await expect(inBrowser(await readFile(heicPhoto))).rejects.toThrow(
      /photo is a HEIC photo, which cannot be decoded here\. Convert it to JPEG first/,
    );
  });

  test('a GIF is converted', async () => {
    const gif = sharp({ create: { width: 60, height: 40, channels: 3, background: '#f00' } }).gif();
    expect(await sent(await inBrowser(await gif.toBuffer()))).toMatchObject({ mediaType: 'image/webp', left: red });
  });
});
