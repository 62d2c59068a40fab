import type { Cutout } from '../base/image.js';

/** Paints a framed cutout with a function of -1..1 coordinates, v down: [red, green, blue, alpha], each 0..255. */
export function paintCutout(
  size: number,
  paint: (u: number, v: number) => readonly [number, number, number, number],
): Cutout {
  const data = new Uint8Array(4 * size * size);
  for (let y = 0; y < size; y++) {
    for (let x = 0; x < size; x++) {
      data.set(paint(((x + 0.5) / size) * 2 - 1, ((y + 0.5) / size) * 2 - 1), 4 * (y * size + x));
    }
  }
  return { image: { width: size, height: size, data } };
}
