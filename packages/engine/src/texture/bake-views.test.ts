import { expect, test } from 'vitest';
import type { RgbaImage } from '../base/image.js';
import { box } from '../render/shapes.fixture.js';
import { bakeViews } from './bake-views.js';
import { unwrap } from './unwrap.js';

/** A photo of one color, which the whole box fills. */
const plain = (color: readonly number[]): RgbaImage => {
  const data = new Uint8Array(4 * 64 * 64);
  for (let i = 0; i < data.length; i += 4) data.set([...color, 255], i);
  return { width: 64, height: 64, data };
};

const placed = (color: readonly number[], yaw: number) => {
  const [s, c] = [Math.sin(yaw), Math.cos(yaw)];
  const rotation = Float64Array.of(c, 0, -s, 0, 1, 0, s, 0, c);
  const outline = new Float32Array(32 * 32).fill(0.1);
  const camera = { rotation, x: 0, y: -0.3, distance: 2, halfTangent: 0.3 };
  return { image: plain(color), camera, outline, outlineSize: 32 };
};

test('each side has the colors of the photo that shows it', () => {
  const mesh = box(0.3);
  const photos = [placed([200, 30, 30], 0), placed([30, 200, 30], -Math.PI / 2), placed([30, 30, 200], Math.PI)];
  const unwrapped = unwrap(mesh, mesh.normals, { distance: 2, halfTangent: 0.3 }, 256, true);
  const texture = bakeViews(unwrapped, mesh, mesh.normals, photos, { textureSize: 256 });
  const colorOn = (axis: 0 | 2, sign: 1 | -1) => {
    const corners = unwrapped.indices
      .filter((vertex) => sign * unwrapped.normals[3 * vertex + axis]! > 0.9)
      .slice(0, 3);
    const [u, v] = [0, 1].map((k) => corners.reduce((sum, vertex) => sum + unwrapped.uvs[2 * vertex + k]! / 3, 0));
    const at = 4 * (Math.floor(v! * 256) * 256 + Math.floor(u! * 256));
    return texture.data.slice(at, at + 3).indexOf(Math.max(...texture.data.slice(at, at + 3)));
  };
  expect(colorOn(2, 1)).toBe(0);
  expect(colorOn(0, -1)).toBe(1);
  expect(colorOn(2, -1)).toBe(2);
});
