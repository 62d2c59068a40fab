import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import type { RgbaImage } from '../base/image.js';
import { encodeThumbnail, type RenderOptions, renderThumbnail, renderView } from './render-view.js';
import { box, sphere } from './shapes.fixture.js';

const options: RenderOptions = { width: 96, height: 96, yawRadians: 0, pitchRadians: 0.1, supersample: 2 };

/** A texture of `size` x `size` whose texel [column, row], row 0 on top, has the color that `colorOf` gives. */
function paint(size: number, colorOf: (column: number, row: number) => readonly [number, number, number]): RgbaImage {
  const data = new Uint8Array(4 * size * size);
  for (let texel = 0; texel < size * size; texel++) {
    data.set([...colorOf(texel % size, Math.floor(texel / size)), 255], 4 * texel);
  }
  return { width: size, height: size, data };
}

const gray = paint(4, () => [128, 128, 128]);
const white = paint(4, () => [255, 255, 255]);

const pixel = (image: RgbaImage, column: number, row: number) =>
  [...image.data.subarray(4 * (row * image.width + column), 4 * (row * image.width + column) + 3)] as const;
const brightness = (image: RgbaImage, column: number, row: number) =>
  pixel(image, column, row).reduce((sum, value) => sum + value, 0) / 3;

/** The middle of all pixels that are clearly red. */
function whereRed(image: RgbaImage): { column: number; row: number; count: number } {
  const found = { column: 0, row: 0, count: 0 };
  for (let at = 0; at < image.width * image.height; at++) {
    const [red, green] = pixel(image, at % image.width, Math.floor(at / image.width));
    if (red! < 2 * green!) continue;
    found.column += at % image.width;
    found.row += Math.floor(at / image.width);
    found.count++;
  }
  return { column: found.column / found.count, row: found.row / found.count, count: found.count };
}

describe('the texture', () => {
  test('has v down: its top left corner is at the top left of the front', () => {
    const corner = paint(8, (column, row) => (column < 3 && row < 3 ? [220, 20, 20] : [90, 90, 90]));
    const red = whereRed(renderView(box(0.3), corner, { ...options, pitchRadians: 0 }));
    expect(red.count).toBeGreaterThan(50);
    expect(red.column).toBeLessThan(48);
    expect(red.row).toBeLessThan(48);
  });

  test('of a single color keeps its hue under the lamps', () => {
    const orange = paint(4, () => [200, 100, 50]);
    const [red, green, blue] = pixel(renderView(sphere(0.4, 24), orange, options), 48, 48);
    expect(red! / green!).toBeGreaterThan(1.8);
    expect(green! / blue!).toBeGreaterThan(1.6);
  });
});

describe('the camera', () => {
  // Red where the sphere of the fixture faces +Z: u around 0.5.
  const redFront = paint(16, (column) => (column > 6 && column < 9 ? [220, 20, 20] : [90, 90, 90]));
  const redAt = (yawRadians: number) => whereRed(renderView(sphere(0.4, 24), redFront, { ...options, yawRadians }));

  test('shows the front, +Z, at yaw 0 and not from behind', () => {
    expect(Math.abs(redAt(0).column - 48)).toBeLessThan(4);
    expect(redAt(Math.PI).count).toBe(0);
  });
});

describe('the light', () => {
  const ball = renderView(sphere(0.4, 32), gray, options);

  test('comes from above and from the left', () => {
    expect(brightness(ball, 48, 28)).toBeGreaterThan(brightness(ball, 48, 72) + 20);
    expect(brightness(ball, 28, 48)).toBeGreaterThan(brightness(ball, 68, 48) + 20);
  });

  test('casts a shadow where the object meets the ground, and not in the corners', () => {
    const image = renderView(sphere(0.4, 32), white, { ...options, pitchRadians: 0.4 });
    const lowest = Math.min(...Array.from({ length: 96 }, (_, column) => brightness(image, column, 84)));
    expect(lowest).toBeLessThan(brightness(image, 2, 84) - 30);
    expect(Math.abs(brightness(image, 2, 2) - brightness(image, 93, 2))).toBeLessThan(2);
  });

  test('turns with the camera: a ball looks the same from every side', () => {
    const behind = renderView(sphere(0.4, 32), gray, { ...options, yawRadians: Math.PI });
    for (const [column, row] of [
      [48, 48],
      [30, 40],
      [60, 60],
    ] as const) {
      expect(Math.abs(brightness(ball, column, row) - brightness(behind, column, row))).toBeLessThan(4);
    }
  });

  test('neither overexposes a white object nor underexposes a black one', () => {
    const share = (texture: RgbaImage, isLost: (value: number) => boolean) => {
      const image = renderView(sphere(0.4, 32), texture, options);
      const middle = Array.from({ length: 900 }, (_, i) => brightness(image, 33 + (i % 30), 33 + Math.floor(i / 30)));
      return middle.filter(isLost).length / middle.length;
    };
    expect(share(white, (value) => value >= 254)).toBeLessThan(0.35);
    expect(
      share(
        paint(4, () => [40, 40, 40]),
        (value) => value < 12,
      ),
    ).toBe(0);
  });
});

test('supersampling softens the silhouette: there are more shades between object and backdrop', () => {
  const shades = (supersample: number) => {
    const { data } = renderView(
      sphere(0.4, 48),
      paint(4, () => [0, 0, 0]),
      { ...options, supersample },
    );
    return new Set(data.filter((_, i) => i % 4 === 0)).size;
  };
  expect(shades(3)).toBeGreaterThan(shades(1) + 5);
});

const red = { width: 1, height: 1, data: Uint8Array.of(200, 30, 30, 255) };

test('the thumbnail is a JPEG of 512 x 512 pixels with light corners and the object in the middle', async () => {
  const { jpeg } = await encodeThumbnail(renderThumbnail(sphere(0.5, 48), red));
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
  const { jpeg, webp } = await encodeThumbnail(renderThumbnail(sphere(0.5, 48), red));
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

test('both thumbnails say in their XMP that a network made them', async () => {
  const { jpeg, webp } = await encodeThumbnail(renderThumbnail(sphere(0.5, 48), red));
  for (const image of [jpeg, webp]) {
    const { xmp } = await sharp(image).metadata();
    expect(String(xmp)).toContain(
      'DigitalSourceType="http://cv.iptc.org/newscodes/digitalsourcetype/trainedAlgorithmicMedia"',
    );
  }
});
