import { boundsOf, edgeCounts, type Matte, type RgbaImage } from '../base/image.js';
import type { Rectangle } from './enlarge-matte.js';

// Recognizes an alpha channel that is a frame: a photo that was padded with transparency, as programs do to make it
// square. The outline is then a rectangle. So is that of a book seen from its front, so the outline alone does not
// decide; what a network finds inside does.

/** From this alpha on, a pixel is solid. The shadow around a window's screenshot is below it. */
const solidAlpha = 128;

/** The solid part fills at least this share of its box. The cutouts of models/lab/sets fill up to 0.96. */
const minFill = 0.98;

/** Minimum length in pixels of the longer side. */
const minSide = 192;

/** Pixels along the edges that are left out: they are mixed with what is around the photo. */
const inset = 2;

/** An object has a margin if it covers at most this share of each side of the frame. */
const maxSideShare = 0.05;

/** Finds the rectangle that a padded photo fills. Returns undefined for other outlines. */
export function frameOf(alpha: Matte): Rectangle | undefined {
  const bounds = boundsOf(alpha, solidAlpha);
  if (!bounds) return undefined;
  const [width, height] = [bounds.right - bounds.left, bounds.bottom - bounds.top];
  const solid = alpha.data.reduce((count, value) => count + (value >= solidAlpha ? 1 : 0), 0);
  if (solid < minFill * width * height || Math.max(width, height) < minSide) return undefined;
  const frame = {
    left: bounds.left + inset,
    top: bounds.top + inset,
    width: width - 2 * inset,
    height: height - 2 * inset,
  };
  return Math.min(frame.width, frame.height) > 0 ? frame : undefined;
}

/** Takes the photo out of its frame, and makes it opaque. */
export function takeOut({ width, data }: RgbaImage, frame: Rectangle): RgbaImage {
  const taken = new Uint8Array(4 * frame.width * frame.height);
  for (let y = 0; y < frame.height; y++) {
    const from = 4 * ((frame.top + y) * width + frame.left);
    taken.set(data.subarray(from, from + 4 * frame.width), 4 * y * frame.width);
  }
  for (let i = 3; i < taken.length; i += 4) taken[i] = 255;
  return { width: frame.width, height: frame.height, data: taken };
}

/** Converts the matte of what `takeOut` returned to one of the whole image. Outside the frame, it is 0. */
export function putBack({ data }: Matte, { left, top, width, height }: Rectangle, image: RgbaImage): Matte {
  const whole = new Uint8Array(image.width * image.height);
  for (let y = 0; y < height; y++) {
    whole.set(data.subarray(y * width, (y + 1) * width), (top + y) * image.width + left);
  }
  return { width: image.width, height: image.height, data: whole };
}

/** Whether an object stands free in its frame. One that touches it may be the photo's own content, cut off. */
export function hasMargin(matte: Matte): boolean {
  const { top, bottom, left, right } = edgeCounts(matte, solidAlpha);
  return Math.max(top, bottom) <= maxSideShare * matte.width && Math.max(left, right) <= maxSideShare * matte.height;
}
