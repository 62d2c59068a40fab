import type { LinearImage } from './srgb.js';

/**
 * Samples an image bilinearly and writes the color to `color` [3]. Positions beyond the border take the nearest edge
 * color.
 *
 * @param u 0..1 from the left edge of the image
 * @param v 0..1 from the top edge
 */
export function sampleColor({ width, height, data }: LinearImage, u: number, v: number, color: Float64Array): void {
  const x = Math.min(Math.max(u * width - 0.5, 0), width - 1);
  const y = Math.min(Math.max(v * height - 0.5, 0), height - 1);
  const left = Math.floor(x);
  const top = Math.floor(y);
  const right = x - left;
  const down = y - top;
  const topLeft = 3 * (top * width + left);
  const topRight = left < width - 1 ? topLeft + 3 : topLeft;
  const nextRow = top < height - 1 ? 3 * width : 0;
  for (let channel = 0; channel < 3; channel++) {
    const above = data[topLeft + channel]! * (1 - right) + data[topRight + channel]! * right;
    const below = data[topLeft + nextRow + channel]! * (1 - right) + data[topRight + nextRow + channel]! * right;
    color[channel] = above * (1 - down) + below * down;
  }
}
