import sharp from 'sharp';
import { expect, test } from 'vitest';
import { sphere } from './shapes.fixture.js';
import { renderThumbnails } from './thumbnail.js';

const red = { width: 1, height: 1, data: Uint8Array.of(200, 30, 30, 255) };

test('the thumbnail is a JPEG of 512 x 512 pixels with light corners and the object in the middle', async () => {
  const { jpeg } = await renderThumbnails(sphere(0.5, 48), red);
  expect(await sharp(jpeg).metadata()).toMatchObject({ format: 'jpeg', width: 512, height: 512 });
  const { data } = await sharp(jpeg).raw().toBuffer({ resolveWithObject: true });
  const at = (column: number, row: number) => [
    ...data.subarray(3 * (512 * row + column), 3 * (512 * row + column) + 3),
  ];
  for (const corner of [at(3, 3), at(508, 3), at(3, 508), at(508, 508)]) {
    expect(Math.min(...corner)).toBeGreaterThan(215);
    expect(Math.max(...corner) - Math.min(...corner)).toBeLessThan(6);
  }
  const [r, g] = at(256, 256);
  expect(r).toBeGreaterThan(2 * g!);
});

test('the thumbnail without a backdrop has the same object, and clear corners', async () => {
  const { jpeg, webp } = await renderThumbnails(sphere(0.5, 48), red);
  expect(await sharp(webp).metadata()).toMatchObject({ format: 'webp', width: 512, height: 512, hasAlpha: true });
  const transparent = await sharp(webp).raw().toBuffer();
  const onPaper = await sharp(jpeg).raw().toBuffer();
  const alphaAt = (column: number, row: number) => transparent[4 * (512 * row + column) + 3];
  expect([alphaAt(3, 3), alphaAt(508, 3), alphaAt(256, 256)]).toEqual([0, 0, 255]);
  const middle = 512 * 256 + 256;
  for (let channel = 0; channel < 3; channel++) {
    expect(Math.abs(transparent[4 * middle + channel]! - onPaper[3 * middle + channel]!)).toBeLessThan(6);
  }
});
