import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import { expect, test } from 'vitest';
import { openEncoder } from '../network/session.js';
import { bundleOfKind, findBundle } from './load-bundle.js';

// What PyTorch answered, written by models/training/parity.py beside the photos it was asked about.
const fixture = fileURLToPath(new URL('parity.fixture', import.meta.url));
interface Sampled {
  at: number[];
  values: number[];
}
const { photos } = JSON.parse(readFileSync(join(fixture, 'answers.json'), 'utf8')) as {
  photos: Record<string, Sampled>[];
};

/** A cutout with straight alpha as the network's input [1, 4, S, S]: on gray, then the matte. */
async function networkInput(path: string): Promise<{ shape: number[]; data: Float32Array }> {
  const { data, info } = await sharp(path).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
  const count = info.width * info.height;
  const planes = new Float32Array(4 * count);
  for (let i = 0; i < count; i++) {
    const alpha = data[4 * i + 3]! / 255;
    for (let c = 0; c < 3; c++) planes[c * count + i] = (data[4 * i + c]! / 255) * alpha + 0.5 * (1 - alpha);
    planes[3 * count + i] = alpha;
  }
  return { shape: [1, 4, info.height, info.width], data: planes };
}

test('gen3d-base answers here what it answered in PyTorch, for 20 photos', async () => {
  const models = fileURLToPath(new URL('../../../../models', import.meta.url));
  const session = await openEncoder(bundleOfKind(await findBundle('gen3d-base', [models]), 'reconstruction'));
  let furthest = 0;
  for (const [number, expected] of photos.entries()) {
    const photo = join(fixture, `${String(number).padStart(2, '0')}.png`);
    const outputs = await session.run({ image: await networkInput(photo) });
    for (const [name, { at, values }] of Object.entries(expected)) {
      const answer = outputs.get(name)!;
      for (const [i, value] of values.entries()) furthest = Math.max(furthest, Math.abs(answer[at[i]!]! - value));
    }
  }
  await session.release();
  expect(photos).toHaveLength(20);
  expect(furthest).toBeLessThan(0.01);
});
