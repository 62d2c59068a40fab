import sharp from 'sharp';
import { expect, test } from 'vitest';
import { renderPartThumbnails } from './part-thumbnails.js';

/** A square of one meter from `left`, toward +Z. */
const square = (left: number) => ({
  positions: Float32Array.of(left, 0, 0, left + 1, 0, 0, left + 1, 1, 0, left, 1, 0),
  indices: Uint32Array.of(0, 1, 2, 0, 2, 3),
});

test('parts with colors, repeated textures and no material are all drawn', async () => {
  const green = { r: 0, g: 200, b: 0 };
  const texture = {
    bytes: await sharp({ create: { width: 4, height: 4, channels: 3, background: green } })
      .png()
      .toBuffer(),
  };
  const parts = [
    { ...square(-1), normals: undefined, uvs: undefined, material: 0 },
    { ...square(0), normals: undefined, uvs: Float32Array.of(2, 2, 3.5, 2, 3.5, 3.5, 2, 3.5), material: 1 },
    { ...square(1), normals: undefined, uvs: undefined, material: undefined },
  ];
  const materials = [
    { color: [0.6, 0, 0], texture: undefined },
    { color: [1, 1, 1], texture },
  ] as const;
  const { webp, jpeg } = await renderPartThumbnails(parts, materials);
  expect(await sharp(jpeg).metadata()).toMatchObject({ format: 'jpeg', width: 512, height: 512 });
  const { data } = await sharp(webp).raw().toBuffer({ resolveWithObject: true });
  let [red, greens, whites] = [0, 0, 0];
  for (let pixel = 0; pixel < data.length; pixel += 4) {
    const [r, g, b] = [data[pixel]!, data[pixel + 1]!, data[pixel + 2]!];
    if (r > 50 && r > 2 * g && r > 2 * b) red++;
    else if (g > 50 && g > 2 * r && g > 2 * b) greens++;
    else if (Math.min(r, g, b) > 100) whites++;
  }
  for (const count of [red, greens, whites]) expect(count).toBeGreaterThan(2_000);
});

test('the colors of vertices are drawn', async () => {
  const colors = Float32Array.from({ length: 12 }, (_, at) => (at % 3 === 2 ? 0.6 : 0));
  const part = { ...square(0), normals: undefined, uvs: undefined, colors, material: undefined };
  const { webp } = await renderPartThumbnails([part], []);
  const { data } = await sharp(webp).raw().toBuffer({ resolveWithObject: true });
  const isBlue = (pixel: number) => data[pixel + 2]! > 50 && data[pixel + 2]! > 2 * data[pixel]!;
  const pixels = Array.from({ length: data.length / 4 }, (_, index) => 4 * index);
  expect(pixels.filter(isBlue).length).toBeGreaterThan(2_000);
});

test('a texture that is not a PNG or a JPEG is refused', async () => {
  const texture = { bytes: Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>') };
  const part = { ...square(0), normals: undefined, uvs: undefined, material: 0 };
  await expect(renderPartThumbnails([part], [{ color: [1, 1, 1], texture }])).rejects.toMatchObject({
    code: 'inference_failed',
  });
});
