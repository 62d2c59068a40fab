import { expect, test } from 'vitest';
import type { Cutout, Matte, RgbaImage } from '../base/image.js';
import type { ReconstructionManifest } from '../bundle/manifest.js';
import { frame, toInput } from './frame.js';

type Color = readonly [number, number, number];
const red: Color = [200, 40, 30];
const green: Color = [20, 180, 60];
const options = { foregroundRatio: 0.86, maxSize: 1024 };
const tiny: ReconstructionManifest['input'] = {
  tensor: 'image',
  size: 64,
  channels: 4,
  mean: [0, 0, 0],
  std: [255, 255, 255],
  background: 0.5,
  foregroundRatio: 0.86,
};

/** A photo of a disc, whose edge is `soft` pixels wide and mixes its color with the background's. */
function photographDisc(
  width: number,
  height: number,
  [cx, cy, radius]: Color,
  soft = 4,
): { image: RgbaImage; matte: Matte } {
  const data = new Uint8Array(4 * width * height);
  const alpha = new Uint8Array(width * height);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const i = y * width + x;
      const distance = radius - Math.hypot(x + 0.5 - cx, y + 0.5 - cy);
      const share = Math.min(1, Math.max(0, distance / soft + 0.5));
      for (let c = 0; c < 3; c++) data[4 * i + c] = Math.round(red[c]! * share + green[c]! * (1 - share));
      data[4 * i + 3] = 255;
      alpha[i] = Math.round(255 * share);
    }
  }
  return { image: { width, height, data }, matte: { width, height, data: alpha } };
}

function box({ image: { width, height, data } }: Cutout): { left: number; top: number; right: number; bottom: number } {
  let [left, top, right, bottom] = [width, height, 0, 0];
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      if (data[4 * (y * width + x) + 3]! <= 100) continue;
      [left, top] = [Math.min(left, x), Math.min(top, y)];
      [right, bottom] = [Math.max(right, x + 1), Math.max(bottom, y + 1)];
    }
  }
  return { left, top, right, bottom };
}

/** The maximum difference from red of any channel of the pixels with `min` <= alpha <= `max`. */
function maxDifferenceFromRed({ image: { data } }: Cutout, min: number, max: number): number {
  let difference = 0;
  for (let i = 0; i < data.length; i += 4) {
    if (data[i + 3]! < min || data[i + 3]! > max) continue;
    for (let c = 0; c < 3; c++) difference = Math.max(difference, Math.abs(data[i + c]! - red[c]!));
  }
  return difference;
}

test('the object is in the middle of a square and fills the given share of it', () => {
  const { image, matte } = photographDisc(900, 700, [620, 260, 200]);
  const cutout = frame(image, matte, options);
  const size = cutout.image.width;
  expect(cutout.image.height).toBe(size);
  const { left, top, right, bottom } = box(cutout);
  expect(Math.abs((right - left) / size - 0.86)).toBeLessThan(0.01);
  expect(Math.abs((left + right - size) / 2)).toBeLessThanOrEqual(1);
  expect(Math.abs((top + bottom - size) / 2)).toBeLessThanOrEqual(1);
});

test('a large object is scaled down to the largest frame, a small one up to 512 pixels', () => {
  const large = photographDisc(1500, 1500, [750, 750, 700]);
  expect(frame(large.image, large.matte, options).image.width).toBe(1024);
  const small = photographDisc(300, 300, [150, 150, 40]);
  expect(frame(small.image, small.matte, options).image.width).toBe(512);
  const between = photographDisc(800, 800, [400, 400, 300]);
  expect(frame(between.image, between.matte, options).image.width).toBe(Math.ceil(604 / 0.86));
});

test('the soft edge of the matte belongs to the object that fills the frame', () => {
  const { image, matte } = photographDisc(900, 900, [450, 450, 200], 40);
  // The edge reaches 20 pixels beyond the radius.
  expect(frame(image, matte, options).window.side).toBeCloseTo(440 / 0.86, 0);
});

test('the half-transparent edge loses the color of the background', () => {
  const { image, matte } = photographDisc(700, 700, [350, 350, 250], 8);
  const cutout = frame(image, matte, options);
  // In the photo a pixel of alpha 64 is three quarters green: 135 away in the red channel.
  expect(maxDifferenceFromRed(cutout, 64, 255)).toBeLessThan(20);
});

test("beyond the silhouette, the colors are the object's and not the background's", () => {
  const { image, matte } = photographDisc(700, 700, [350, 350, 250], 8);
  expect(maxDifferenceFromRed(frame(image, matte, options), 0, 63)).toBeLessThan(25);
});

test('pixels beyond the photo are transparent, and the visible part of the object stays', () => {
  const { image, matte } = photographDisc(600, 400, [300, 400, 250]);
  const { data, width } = frame(image, matte, options).image;
  const alphaAt = (x: number, y: number) => data[4 * (Math.floor(y * width) * width + Math.floor(x * width)) + 3];
  expect(alphaAt(0.5, 0.95)).toBe(0);
  expect(alphaAt(0.5, 0.6)).toBe(255);
});

test('a cutout over transparent black keeps its own colors at the edge', () => {
  const { matte } = photographDisc(700, 700, [350, 350, 250]);
  const data = new Uint8Array(4 * matte.data.length);
  for (let i = 0; i < matte.data.length; i++) if (matte.data[i]! > 0) data.set([...red, matte.data[i]!], 4 * i);
  const cutout = frame({ width: 700, height: 700, data }, matte, options);
  expect(maxDifferenceFromRed(cutout, 0, 255)).toBeLessThanOrEqual(2);
});

test('texture inside the object does not change', () => {
  const { image, matte } = photographDisc(600, 600, [300, 300, 256]);
  const stripes = image.data.map((value, i) =>
    i % 4 === 1 && matte.data[i >> 2]! === 255 && (i >> 2) % 16 < 8 ? 200 : value,
  );
  const { data, width } = frame({ ...image, data: stripes }, matte, { foregroundRatio: 0.86, maxSize: 600 }).image;
  const row = Array.from({ length: 100 }, (_, i) => data[4 * ((width >> 1) * width + 250 + i) + 1]!);
  expect(Math.max(...row)).toBe(200);
  expect(Math.min(...row)).toBe(red[1]);
});

test('a matte without a single visible pixel is no_foreground', () => {
  const { image, matte } = photographDisc(64, 64, [32, 32, 20]);
  const blank = { ...matte, data: new Uint8Array(64 * 64).fill(90) };
  expect(() => frame(image, blank, options)).toThrow(expect.objectContaining({ code: 'no_foreground' }));
});

test('the input has the object in its colors, gray around it, and the matte as fourth channel', () => {
  const { image, matte } = photographDisc(700, 700, [350, 350, 250]);
  const values = toInput(frame(image, matte, options), tiny);
  expect(values).toHaveLength(4 * 64 * 64);
  const at = (channel: number, x: number, y: number) => values[(channel * 64 + y) * 64 + x]!;
  for (const c of [0, 1, 2] as const) {
    expect(at(c, 32, 32)).toBeCloseTo(red[c] / 255, 2);
    expect(at(c, 1, 1)).toBeCloseTo(0.5, 5);
  }
  expect(at(3, 32, 32)).toBeCloseTo(1, 5);
  expect(at(3, 1, 1)).toBe(0);
});

test('at the edge the input mixes color and gray in proportion to the matte', () => {
  const { image, matte } = photographDisc(700, 700, [350, 350, 250]);
  const values = toInput(frame(image, matte, options), tiny);
  const count = 64 * 64;
  for (let i = 0; i < count; i++) {
    const share = values[3 * count + i]!;
    for (let c = 0; c < 3; c++) {
      const expected = (red[c]! / 255) * share + 0.5 * (1 - share);
      expect(Math.abs(values[c * count + i]! - expected)).toBeLessThan(0.02);
    }
  }
});

test("three channels are in the manifest's range of values, without the matte", () => {
  const { image, matte } = photographDisc(700, 700, [350, 350, 250]);
  const values = toInput(frame(image, matte, options), {
    ...tiny,
    channels: 3,
    background: 1,
    mean: [100, 50, 0],
    std: [50, 25, 1],
  });
  expect(values).toHaveLength(3 * 64 * 64);
  const [corner, middle] = [0, 32 * 64 + 32];
  expect(values[corner]).toBeCloseTo((255 - 100) / 50, 2);
  expect(values[middle]).toBeCloseTo((red[0] - 100) / 50, 1);
  expect(values[64 * 64 + middle]).toBeCloseTo((red[1] - 50) / 25, 1);
});
