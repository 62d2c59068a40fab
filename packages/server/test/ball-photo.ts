import { crc32 } from 'node:zlib';
import { png } from '../../engine/src/photo/png.fixture.js';
import type { RawImage } from '../src/data/inputs/stored-image.js';

/** Returns [r, g, b, a]. */
type Pixel = (x: number, y: number) => [number, number, number, number];

/** An RGBA PNG of `size` x `size` pixels. */
function square(size: number, pixel: Pixel): Buffer {
  const stride = size * 4 + 1;
  const rows = Buffer.alloc(size * stride);
  for (let y = 0; y < size; y++) {
    for (let x = 0; x < size; x++) rows.set(pixel(x, y), y * stride + 1 + x * 4);
  }
  return png(size, size, rows);
}

/**
 * A shaded red ball on a transparent background, so that the engine needs no matting network. `width` is a fraction of the
 * height. The model of a needle of 0.1 takes half the time of a ball's. `grain`, 0 to 1, makes textures hard to
 * compress.
 */
export const ballPhoto = (size = 160, width = 1, grain = 0): Buffer => square(size, ball(size, width, grain));

/** The same ball, as a decoder returns it. */
export function ballPixels(size = 160, width = 1): RawImage {
  const pixel = ball(size, width, 0);
  const pixels = Buffer.alloc(size * size * 4);
  for (let i = 0; i < size * size; i++) pixels.set(pixel(i % size, Math.floor(i / size)), i * 4);
  return { width: size, height: size, channels: 4, pixels };
}

function ball(size: number, width: number, grain: number): Pixel {
  const radius = size * 0.4;
  return (x, y) => {
    const dx = (x - size / 2) / (radius * width);
    const dy = (y - size / 2) / radius;
    const z = Math.sqrt(Math.max(0, 1 - dx * dx - dy * dy));
    const shade = 1 - grain * (((x * 7919 + y * 104_729) % 251) / 251);
    const light = Math.round(shade * (80 + 150 * Math.max(0, z * 0.8 - dy * 0.4 - dx * 0.3)));
    return dx * dx + dy * dy < 1 ? [Math.min(255, light), light >> 2, light >> 2, 255] : [0, 0, 0, 0];
  };
}

/** A small file with 400 megapixels in its header. */
export function bomb(): Buffer {
  const photo = transparentPhoto();
  photo.writeUInt32BE(20_000, 16);
  photo.writeUInt32BE(20_000, 20);
  photo.writeInt32BE(crc32(photo.subarray(12, 29)) | 0, 29);
  return photo;
}

/** An empty photo. */
export const transparentPhoto = (size = 64): Buffer => square(size, () => [0, 0, 0, 0]);

export const asDataUri = (photo: Uint8Array, type = 'image/png'): string =>
  `data:${type};base64,${Buffer.from(photo).toString('base64')}`;
