import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import { expect, test } from 'vitest';
import { openEncoder } from '../network/session.js';
import { bundleOfKind, findBundle } from './load-bundle.js';

// PyTorch's outputs for these photos, written by models/lab/training/parity.py.
const fixture = fileURLToPath(new URL('parity.fixture', import.meta.url));
interface Sampled {
  at: number[];
  values: number[];
}
const { photos } = JSON.parse(readFileSync(join(fixture, 'answers.json'), 'utf8')) as {
  photos: Record<string, Sampled>[];
};

/** A cutout with straight alpha as the network's input [1, 4, S, S]: on gray, then the matte. */
function networkInput(rgba: Uint8Array, size: number): { shape: number[]; data: Float32Array } {
  const count = size * size;
  const channels = new Float32Array(4 * count);
  for (let i = 0; i < count; i++) {
    const alpha = rgba[4 * i + 3]! / 255;
    for (let c = 0; c < 3; c++) channels[c * count + i] = (rgba[4 * i + c]! / 255) * alpha + 0.5 * (1 - alpha);
    channels[3 * count + i] = alpha;
  }
  return { shape: [1, 4, size, size], data: channels };
}

test('gen3d-base has the same outputs as in PyTorch, for 10 photos', async () => {
  const models = fileURLToPath(new URL('../../../../models', import.meta.url));
  const session = await openEncoder(bundleOfKind(await findBundle('gen3d-base', [models]), 'reconstruction'));
  // The photos are below each other.
  const sheet = sharp(join(fixture, 'photos.png')).ensureAlpha().raw();
  const { data, info } = await sheet.toBuffer({ resolveWithObject: true });
  const bytes = 4 * info.width ** 2;
  let maxError = 0;
  for (const [number, expected] of photos.entries()) {
    const image = networkInput(data.subarray(number * bytes, (number + 1) * bytes), info.width);
    const outputs = await session.run({ image });
    for (const [name, { at, values }] of Object.entries(expected)) {
      const actual = outputs.get(name)!;
      for (const [i, value] of values.entries()) maxError = Math.max(maxError, Math.abs(actual[at[i]!]! - value));
    }
  }
  await session.release();
  expect(photos).toHaveLength(10);
  expect(maxError).toBeLessThan(0.01);
});
