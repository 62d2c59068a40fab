import { convexHull, type Position } from '../base/convex-hull.js';
import { edgeCounts, type Matte, type RgbaImage } from '../base/image.js';
import { clamp, sampleBilinear } from '../base/interpolation.js';

/** From this alpha on, a pixel is solid. The shadow around a window's screenshot is below it. */
const solidAlpha = 200;

/** An opaque region is a rectangle if it fills this share of the smallest rectangle around it. */
const minFill = 0.97;

/**
 * Pixels at the sides of the rectangle that are left out: they are mixed with the frame, and a network would take a
 * line along the border for a part of the object.
 */
const inset = 2;

/** An object has a margin if it covers at most this share of each side of the rectangle. */
const maxSideShare = 0.05;

/** Where a photo is in its transparent frame: a rectangle, in pixels. */
export interface FramedPhoto {
  readonly center: Position;
  /** The direction of its width, of length 1. That of its height is a quarter turn toward +y from it. */
  readonly direction: Position;
  readonly width: number;
  readonly height: number;
}

/**
 * Finds the rectangle of a photo that stands in a transparent frame: padded to a square, with a border, straightened,
 * or a screenshot of a window with its shadow.
 *
 * @param alpha the alpha channel of the image
 * @returns undefined if the solid part of the image has another shape
 */
export function rectangleOf(alpha: Matte): FramedPhoto | undefined {
  const { width, height, data } = alpha;
  const corners: Position[] = [];
  let solid = 0;
  for (let y = 0; y < height; y++) {
    let [left, right] = [width, 0];
    for (let x = 0; x < width; x++) {
      if (data[y * width + x]! < solidAlpha) continue;
      solid++;
      if (x < left) left = x;
      right = x + 1;
    }
    if (right > 0) corners.push([left, y], [right, y], [left, y + 1], [right, y + 1]);
  }
  const rectangle = smallestRectangle(convexHull(corners));
  return rectangle && solid >= minFill * rectangle.width * rectangle.height ? rectangle : undefined;
}

/**
 * Finds the smallest rectangle around a convex polygon. One of its sides contains a side of the polygon.
 *
 * @see Freeman and Shapira, "Determining the Minimum-Area Encasing Rectangle for an Arbitrary Closed Curve", 1975
 */
function smallestRectangle(hull: readonly Position[]): FramedPhoto | undefined {
  let best: FramedPhoto | undefined;
  hull.forEach((from, i) => {
    const to = hull[(i + 1) % hull.length]!;
    const length = Math.hypot(to[0] - from[0], to[1] - from[1]);
    const [x, y] = [(to[0] - from[0]) / length, (to[1] - from[1]) / length];
    let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
    for (const corner of hull) {
      const across = corner[0] * x + corner[1] * y;
      const down = corner[1] * x - corner[0] * y;
      if (across < left) left = across;
      if (across > right) right = across;
      if (down < top) top = down;
      if (down > bottom) bottom = down;
    }
    const [width, height] = [right - left, bottom - top];
    if (best && best.width * best.height <= width * height) return;
    const [across, down] = [(left + right) / 2, (top + bottom) / 2];
    best = { center: [across * x - down * y, across * y + down * x], direction: [x, y], width, height };
  });
  return best;
}

/**
 * Takes the photo in a rectangle out of its frame, and turns it so that its sides are those of the image.
 *
 * @returns an opaque image, and a function that takes a matte of it back to the size and position in the frame
 */
export function takeOut(image: RgbaImage, { center, direction: [x, y], width: wide, height: high }: FramedPhoto) {
  const width = Math.max(1, Math.round(wide - 2 * inset));
  const height = Math.max(1, Math.round(high - 2 * inset));
  const data = new Uint8Array(4 * width * height);
  for (let row = 0; row < height; row++) {
    const down = row + 0.5 - height / 2;
    for (let column = 0; column < width; column++) {
      const across = column + 0.5 - width / 2;
      const fromX = clamp(Math.floor(center[0] + across * x - down * y), 0, image.width - 1);
      const fromY = clamp(Math.floor(center[1] + across * y + down * x), 0, image.height - 1);
      const from = 4 * (fromY * image.width + fromX);
      const to = 4 * (row * width + column);
      for (let c = 0; c < 3; c++) data[to + c] = image.data[from + c]!;
      data[to + 3] = 255;
    }
  }
  const putBack = (matte: Matte): Matte => {
    const whole = new Uint8Array(image.width * image.height);
    for (let row = 0; row < image.height; row++) {
      const down = row + 0.5 - center[1];
      for (let column = 0; column < image.width; column++) {
        const across = column + 0.5 - center[0];
        const u = across * x + down * y + width / 2;
        const v = down * x - across * y + height / 2;
        if (u >= 0 && u < width && v >= 0 && v < height)
          whole[row * image.width + column] = Math.round(
            sampleBilinear(matte.data, matte.width, matte.height, u - 0.5, v - 0.5),
          );
      }
    }
    return { width: image.width, height: image.height, data: whole };
  };
  return { photo: { width, height, data }, putBack };
}

/** Whether an object stands free in its photo. One that fills the photo may be the photo's own content, cut off. */
export function hasMargin(matte: Matte): boolean {
  const { top, bottom, left, right } = edgeCounts(matte, 128);
  return Math.max(top, bottom) <= maxSideShare * matte.width && Math.max(left, right) <= maxSideShare * matte.height;
}
