import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import { expect, test } from 'vitest';
import { heicToJpeg } from '../src/jobs/heic.js';

const file = (path: string) => readFile(fileURLToPath(new URL(path, import.meta.url)));

test('a HEIC photo becomes an upright JPEG with its colors', async () => {
  const jpeg = await heicToJpeg(await file('./photos/teapot.heic'));
  expect(await sharp(jpeg).metadata()).toMatchObject({ format: 'jpeg', width: 480, height: 384 });
  // The HEIC is stored sideways and in Display P3. Without its profile, the mean difference is 2.7 of 255.
  const original = await sharp(await file('../../../examples/photos/teapot.jpg'))
    .resize(480, 384)
    .raw()
    .toBuffer();
  const converted = await sharp(jpeg).raw().toBuffer();
  const differences = converted.map((value, index) => Math.abs(value - (original[index] ?? 0)));
  const mean = differences.reduce((sum, value) => sum + value, 0) / differences.length;
  expect(mean).toBeLessThan(2);
});

test('a damaged HEIC photo is an error with a reason', async () => {
  const heic = await file('./photos/teapot.heic');
  await expect(heicToJpeg(heic.subarray(0, 400))).rejects.toThrow(/\w+/);
  await expect(heicToJpeg(heic.subarray(0, 9000))).rejects.toThrow(/\w+/);
});
