import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Browser } from 'playwright-core';
import sharp from 'sharp';
import { build } from 'tsup';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { launchChromium } from '../../../scripts/chromium.mjs';
import { heicPhoto, photoOfPhone, red, sent, sideways } from './photos.js';

let browser: Browser;
let folder: string;
beforeAll(async () => {
  browser = await launchChromium();
  folder = await mkdtemp(join(tmpdir(), 'gen3d-sdk-browser-'));
  const entry = { input: fileURLToPath(new URL('../src/image-input.ts', import.meta.url)) };
  const format = { format: 'iife', globalName: 'input', platform: 'browser' } as const;
  await build({ entry, outDir: folder, ...format, noExternal: [/./], silent: true, config: false });
});
afterAll(async () => {
  await browser?.close();
  await rm(folder, { recursive: true });
});

async function inBrowser(image: Buffer): Promise<string> {
  const page = await browser.newPage();
  onTestFinished(() => page.close());
  await page.setContent('<input type="file">');
  await page.addScriptTag({ path: join(folder, 'input.global.js') });
  await page.setInputFiles('input', { name: 'photo', mimeType: '', buffer: image });
  return page.evaluate<string>('input.readImage(document.querySelector("input").files[0]).then(input.dataUriOf)');
}

test('a sideways photo of 12 megapixels is scaled with a canvas, upright', async () => {
  const image = await sent(await inBrowser(await sideways(await photoOfPhone())));
  expect(image).toMatchObject({ mediaType: 'image/jpeg', width: 1536, height: 2048, right: red });
});

test('HEIC is rejected with a remedy, because Chromium cannot decode it', async () => {
  await expect(inBrowser(await readFile(heicPhoto))).rejects.toThrow(
    /photo is a HEIC photo, and cannot be converted here: .*\. Send a PNG, JPEG or WebP of at most 4 MiB/,
  );
});

test('a GIF is converted', async () => {
  const gif = sharp({ create: { width: 60, height: 40, channels: 3, background: '#f00' } }).gif();
  expect(await sent(await inBrowser(await gif.toBuffer()))).toMatchObject({ mediaType: 'image/webp', left: red });
});
