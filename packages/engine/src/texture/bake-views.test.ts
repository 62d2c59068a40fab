import { expect, test } from 'vitest';
import type { RgbaImage } from '../base/image.js';
import { box } from '../render/shapes.fixture.js';
import { rotationOf } from '../views/view-camera.js';
import { bakeViews, type PlacedPhoto } from './bake-views.js';
import { unwrap } from './unwrap.js';

/** A photo of one color, which the whole box fills. */
const plain = (color: readonly number[]): RgbaImage => {
  const data = new Uint8Array(4 * 64 * 64);
  for (let i = 0; i < data.length; i += 4) data.set([...color, 255], i);
  return { width: 64, height: 64, data };
};

const placed = (color: readonly number[], yaw: number, pitch = 0): PlacedPhoto => {
  const camera = { rotation: rotationOf(yaw, pitch, 0), x: 0, y: -0.3, distance: 2, halfTangent: 0.3 };
  return { image: plain(color), camera, outline: new Float32Array(32 * 32).fill(0.1), outlineSize: 32 };
};

/** Returns the index of the color channel that is strongest in the middle of a side. */
function bakedBox(photos: readonly PlacedPhoto[]) {
  const mesh = box(0.3);
  const unwrapped = unwrap(mesh, mesh.normals, { distance: 2, halfTangent: 0.3 }, 256, true);
  const texture = bakeViews(unwrapped, mesh, mesh.normals, photos, { textureSize: 256 });
  return (axis: 0 | 1 | 2, sign: 1 | -1): number => {
    const corners = unwrapped.indices
      .filter((vertex) => sign * unwrapped.normals[3 * vertex + axis]! > 0.9)
      .slice(0, 3);
    const [u, v] = [0, 1].map((k) => corners.reduce((sum, vertex) => sum + unwrapped.uvs[2 * vertex + k]! / 3, 0));
    const at = 4 * (Math.floor(v! * 256) * 256 + Math.floor(u! * 256));
    return texture.data.slice(at, at + 3).indexOf(Math.max(...texture.data.slice(at, at + 3)));
  };
}

test('each side has the colors of the photo that shows it', () => {
  const colorOn = bakedBox([
    placed([200, 30, 30], 0),
    placed([30, 200, 30], -Math.PI / 2),
    placed([30, 30, 200], Math.PI),
  ]);
  expect(colorOn(2, 1)).toBe(0);
  expect(colorOn(0, -1)).toBe(1);
  expect(colorOn(2, -1)).toBe(2);
});

test('a side that photos only show at a slant of 12 degrees has its colors', () => {
  expect(bakedBox([placed([30, 200, 30], 0, 0.36)])(1, 1)).toBe(1);
});
