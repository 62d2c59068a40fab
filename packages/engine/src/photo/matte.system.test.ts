// Tests IS-Net, the shipped network, on whole photos. matte.test.ts tests how the engine uses the matte of any network.
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
  cup = (await matte(await decode(await readFile(photo)), network.predict)).matte;
});
afterAll(() => network.release());

const coverage = ({ data }: Matte) => data.reduce((sum, value) => sum + value, 0) / 255 / data.length;
const at = ({ width, height, data }: Matte, x: number, y: number) =>
  data[Math.floor(y * height) * width + Math.floor(x * width)]!;

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

test('the graph in floating point, for GPUs, gives the same matte as the one of 8 bits', async () => {
  const bundle = bundleOfKind(await findBundle('isnet', [models]), 'matte');
  const graph = bundle.manifest.floatGraph!;
  const float = await openMattingNetwork({ ...bundle, manifest: { ...bundle.manifest, graph } });
  const { matte: found } = await matte(await decode(await readFile(photo)), float.predict);
  await float.release();
  const difference = found.data.reduce((sum, value, i) => sum + Math.abs(value - cup.data[i]!), 0);
  expect(difference / cup.data.length / 255).toBeLessThan(0.005);
});

test('the same photo mirrored gives the mirrored matte', async () => {
  const flopped = await sharp(await readFile(photo))
    .flop()
    .png()
    .toBuffer();
  const { matte: mirrored } = await matte(await decode(flopped), network.predict);
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
