import type { DecodedPhoto } from '@gen3d/engine';
import type { RawImage } from '../../data/inputs/stored-image.js';

/** Converts pixels to the form that the engine takes. They have alpha only if some are not opaque. */
export function decodedPhoto({ width, height, channels, pixels }: RawImage): DecodedPhoto {
  const transparent = channels === 4;
  return { image: { width, height, data: transparent ? pixels : withAlpha(pixels) }, transparent };
}

function withAlpha(rgb: Uint8Array): Uint8Array {
  const rgba = new Uint8Array((rgb.length / 3) * 4).fill(255);
  for (let from = 0, to = 0; from < rgb.length; from += 3, to += 4) {
    rgba[to] = rgb[from]!;
    rgba[to + 1] = rgb[from + 1]!;
    rgba[to + 2] = rgb[from + 2]!;
  }
  return rgba;
}
