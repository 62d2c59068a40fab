import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Matte } from '../base/image.js';
import { bundleOfKind, findBundle } from '../bundle/load-bundle.js';
import { decode } from './decode.js';
import { type MattingNetwork, matte, openMattingNetwork } from './matte.js';

const models = fileURLToPath(new URL('../../../../models', import.meta.url));
// A cup on a saucer, on a wooden table. Photograph by Rachel Michetti, courtesy of Pikolo Espresso Bar, CC0; from
// scikit-image's data/coffee.png, saved as JPEG.
const photo = new URL('./fixtures/coffee.jpg', import.meta.url);

let network: MattingNetwork;
/** The matte of the photo. */
let cup: Matte;
beforeAll(async () => {
  network = await openMattingNetwork(bundleOfKind(await findBundle('isnet', [models]), 'matte'));
  cup = await matte(await decode(await readFile(photo)), network.predict);
});
afterAll(() => network.release());

const notCalled = () => expect.fail('the network must not run');
const coverage = ({ data }: Matte) => data.reduce((sum, value) => sum + value, 0) / 255 / data.length;
const at = ({ width, height, data }: Matte, x: number, y: number) =>
  data[Math.floor(y * height) * width + Math.floor(x * width)]!;

/** An RGBA PNG of an SVG. */
async function cutout(shapes: string, width = 200, height = 200): Promise<Buffer> {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">${shapes}</svg>`;
  return sharp(Buffer.from(svg)).ensureAlpha().png().toBuffer();
}

test('IS-Net cuts out the cup and its saucer, without the table', async () => {
  const { width, height } = await sharp(await readFile(photo)).metadata();
  expect(cup).toMatchObject({ width, height });
  expect(at(cup, 0.47, 0.5), 'coffee').toBeGreaterThan(250);
  expect(at(cup, 0.45, 0.93), 'saucer').toBeGreaterThan(250);
  for (const [x, y] of [
    [0.02, 0.02],
    [0.98, 0.02],
    [0.02, 0.98],
    [0.98, 0.98],
    [0.9, 0.5],
  ] as const) {
    expect(at(cup, x, y), `table at ${x}, ${y}`).toBe(0);
  }
  // The saucer is an ellipse of about two thirds of the image's width and nine tenths of its height.
  expect(coverage(cup)).toBeGreaterThan(0.4);
  expect(coverage(cup)).toBeLessThan(0.55);
  // A matte is almost black and white, and soft only along the outline.
  const soft = cup.data.filter((value) => value > 12 && value < 243).length / cup.data.length;
  expect(soft).toBeLessThan(0.04);
});

test('the same photo mirrored gives the mirrored matte', async () => {
  const flopped = await sharp(await readFile(photo))
    .flop()
    .png()
    .toBuffer();
  const mirrored = await matte(await decode(flopped), network.predict);
  let difference = 0;
  for (let y = 0; y < cup.height; y++) {
    for (let x = 0; x < cup.width; x++) {
      const a = cup.data[y * cup.width + x]!;
      difference += Math.abs(a - mirrored.data[(y + 1) * cup.width - 1 - x]!);
    }
  }
  expect(difference / cup.data.length / 255).toBeLessThan(0.01);
});

test.each(['#ffffff', '#000000'])('an image of plain %s is no_foreground', async (background) => {
  const bytes = await sharp({ create: { width: 320, height: 240, channels: 3, background } })
    .png()
    .toBuffer();
  await expect(matte(await decode(bytes), network.predict)).rejects.toMatchObject({ code: 'no_foreground' });
});

test('the message for an image of 20 pixels without an object names its size', async () => {
  const bytes = await sharp({ create: { width: 20, height: 24, channels: 3, background: '#66aa88' } })
    .png()
    .toBuffer();
  await expect(matte(await decode(bytes), async () => undefined)).rejects.toMatchObject({
    code: 'no_foreground',
    message: expect.stringMatching(/20 x 24 pixels: send a larger one/),
  });
});

test('an alpha channel that cuts out the object is the matte, and no network runs', async () => {
  const bytes = await cutout('<circle cx="100" cy="100" r="60" fill="#2468ac"/>');
  const result = await matte(await decode(bytes), notCalled);
  const alpha = await sharp(bytes).extractChannel(3).raw().toBuffer();
  expect(result.data).toEqual(new Uint8Array(alpha));
});

test('a cutout may touch the lower edge, like a bust', async () => {
  const bytes = await cutout('<rect x="30" y="40" width="140" height="160" fill="#2468ac"/>');
  expect(coverage(await matte(await decode(bytes), notCalled))).toBeCloseTo(0.56, 2);
});

test('a fully transparent image is no_foreground, and no network runs', async () => {
  const decoded = await decode(await cutout(''));
  await expect(matte(decoded, notCalled)).rejects.toMatchObject({
    code: 'no_foreground',
    message: expect.stringContaining('Send a photo of one thing'),
  });
});

test('rounded corners are not a cutout: the network runs, and the corners stay clear', async () => {
  const { data, info } = await sharp(await readFile(photo))
    .raw()
    .toBuffer({ resolveWithObject: true });
  const corners = Buffer.from(
    `<svg width="${info.width}" height="${info.height}"><rect width="100%" height="100%" rx="40" ry="40"/></svg>`,
  );
  const bytes = await sharp(data, { raw: info })
    .ensureAlpha()
    .composite([{ input: corners, blend: 'dest-in' }])
    .png()
    .toBuffer();
  const result = await matte(await decode(bytes), network.predict);
  expect(at(result, 0.47, 0.5)).toBeGreaterThan(250);
  expect(at(result, 0.9, 0.5)).toBe(0);
  expect(coverage(result)).toBeLessThan(0.55);
});
