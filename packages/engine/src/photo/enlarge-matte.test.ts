import { expect, test } from 'vitest';
import type { RgbaImage } from '../base/image.js';
import { enlargeMatte, type Rectangle, type SmallMatte } from './enlarge-matte.js';

const photoSize = 320;
const scale = 4;
const part = { left: 40, top: 20, width: 240, height: 280 };

/** Coverage of a pixel by a slanted ring: an object with a hole. */
function ring(x: number, y: number): number {
  const distance = Math.hypot(x - 160, 1.2 * (y - 160));
  return Math.min(1, Math.max(0, 0.5 + Math.min(100 - distance, distance - 60)));
}

/** An image whose pixels are `object` where the ring covers them, and `background` elsewhere. */
function paint(object: number, background: number): RgbaImage {
  const data = new Uint8Array(4 * photoSize * photoSize);
  for (let i = 0; i < photoSize * photoSize; i++) {
    const coverage = ring((i % photoSize) + 0.5, Math.floor(i / photoSize) + 0.5);
    data.fill(Math.round(object * coverage + background * (1 - coverage)), 4 * i, 4 * i + 3);
    data[4 * i + 3] = 255;
  }
  return { width: photoSize, height: photoSize, data };
}

/** The ring's matte and the photo's colors in a part, averaged over squares of `scale` pixels. */
function shrink(photo: RgbaImage, { left, top, width, height }: Rectangle): SmallMatte {
  const [columns, rows] = [width / scale, height / scale];
  const data = new Uint8Array(columns * rows);
  const colors = new Uint8Array(3 * data.length);
  for (let i = 0; i < data.length; i++) {
    let [coverage, color] = [0, 0];
    for (let j = 0; j < scale * scale; j++) {
      const x = left + (i % columns) * scale + (j % scale);
      const y = top + Math.floor(i / columns) * scale + Math.floor(j / scale);
      coverage += ring(x + 0.5, y + 0.5) / scale / scale;
      color += photo.data[4 * (y * photoSize + x)]! / scale / scale;
    }
    data[i] = Math.round(255 * coverage);
    colors.fill(Math.round(color), 3 * i, 3 * i + 3);
  }
  return { width: columns, height: rows, data, colors };
}

/** The mean error of the coverage within two pixels of the ring's edges. */
function edgeError(photo: RgbaImage): number {
  const { data } = enlargeMatte(photo, part, shrink(photo, part));
  let [error, count] = [0, 0];
  for (let i = 0; i < data.length; i++) {
    const [x, y] = [(i % photoSize) + 0.5, Math.floor(i / photoSize) + 0.5];
    const distance = Math.hypot(x - 160, 1.2 * (y - 160));
    if (Math.min(Math.abs(distance - 100), Math.abs(distance - 60)) > 2) continue;
    error += Math.abs(data[i]! / 255 - ring(x, y));
    count++;
  }
  return error / count;
}

test('edges that the photo shows are as sharp in the enlarged matte as in the photo', () => {
  expect(edgeError(paint(200, 60))).toBeLessThan(0.03);
});

test('where the photo shows no edge, the matte is interpolated', () => {
  const error = edgeError(paint(100, 100));
  // A ramp of twice the scale instead of a step. The mean of a window would be off by 0.45.
  expect(error).toBeGreaterThan(0.2);
  expect(error).toBeLessThan(0.3);
});

test('the inside is opaque, and the background, the hole and everything outside the part are clear', () => {
  const photo = paint(200, 60);
  const { data } = enlargeMatte(photo, part, shrink(photo, part));
  for (let i = 0; i < data.length; i++) {
    const [x, y] = [(i % photoSize) + 0.5, Math.floor(i / photoSize) + 0.5];
    const distance = Math.hypot(x - 160, 1.2 * (y - 160));
    const inPart = x > part.left && x < part.left + part.width && y > part.top && y < part.top + part.height;
    if (!inPart || distance < 35 || distance > 125) expect(data[i]).toBe(0);
    else if (Math.abs(distance - 80) < 2) expect(data[i]).toBeGreaterThan(250);
  }
});

test('a matte of a few pixels, smaller than a window, can be enlarged', () => {
  const photo = paint(100, 100);
  const small = { width: 2, height: 3, data: new Uint8Array(6).fill(255), colors: new Uint8Array(18).fill(100) };
  const { data } = enlargeMatte(photo, { left: 0, top: 0, width: photoSize, height: photoSize }, small);
  expect(data.every((value) => value === 255)).toBe(true);
});
