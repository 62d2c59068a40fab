import sharp from 'sharp';
import { expect, test } from 'vitest';
import { sphere } from './shapes.fixture.js';
import { thumbnail } from './thumbnail.js';

const red = { width: 1, height: 1, data: Uint8Array.of(200, 30, 30, 255) };

test('a thumbnail is a JPEG of 512 x 512 pixels with light corners and the object in the middle', async () => {
  const jpeg = await thumbnail(sphere(0.5, 48), red);
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
