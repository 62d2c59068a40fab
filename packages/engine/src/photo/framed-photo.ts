import { mean } from '../base/averages.js';
import { areaOf, type Edge, hullOf, type Position } from '../base/convex-hull.js';
import type { Matte, RgbaImage } from '../base/image.js';

// Recognizes an alpha channel that is a frame: a photo that was padded to a square, straightened, or cut to a circle, an
// oval, a vignette or rounded corners. Programs draw such outlines, and they bulge outward everywhere and look the same
// after half a turn. So do the outlines of a ball, or of a book seen from its front, but cut out of a photo, these waver
// by more than a pixel. In renderings they do not waver, so the outline alone does not decide; what a network finds inside
// does. Of the 242 cutouts in models/lab/sets, 32 have outlines that bulge everywhere and do not waver, mostly of boxes
// seen at an angle, and none looks the same after half a turn.

/** From this alpha on, a pixel is solid. The shadow around a window's screenshot is below it. */
const solidAlpha = 128;

/**
 * Minimum length in pixels of the longer side. The outline of a smaller ball does not waver by a pixel, however it was
 * cut out.
 */
const minSide = 192;

/** The solid part fills at least this share of its convex hull. */
const minFill = 0.97;

/** Maximum mean distance in pixels from the solid part to its convex hull. Drawn outlines have 0.2 to 0.7, enlarged 1.0. */
const maxGap = 1.2;

/**
 * Maximum mean distance, as a share of the longer side, between an outline and itself after half a turn. Rectangles,
 * ovals and hexagons have 0.0003 at most, and a window whose upper corners are rounded by 8 % of its width has 0.0106.
 */
const maxAsymmetry = 0.011;

/**
 * Pixels along the outline that are left out: they are mixed with what is around the photo, and a network would take a
 * line along the border for a part of the object.
 */
const inset = 2;

/** An object has a margin if it covers at most this share of each side of the frame. */
const maxSideShare = 0.05;

/** A line of pixels. `end` is exclusive. */
interface Line {
  readonly start: number;
  readonly end: number;
}

/** The pixels of an image that are inside a transparent frame. Their box begins at column `left` and row `top`. */
export interface PhotoFrame {
  readonly left: number;
  readonly top: number;
  /** The pixels of each row of the box, from its left edge. */
  readonly rows: readonly Line[];
  /** The pixels of each column of the box, from its top edge. */
  readonly columns: readonly Line[];
}

/**
 * Finds the frame of a photo.
 *
 * @param alpha the alpha channel of the image
 * @returns undefined if the outline of the solid part is not that of a frame
 */
export function frameOf(alpha: Matte): PhotoFrame | undefined {
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
  const hull = hullOf(corners);
  const area = areaOf(hull);
  const perimeter = hull.reduce((sum, { from, to }) => sum + Math.hypot(to[0] - from[0], to[1] - from[1]), 0);
  if (solid < minFill * area || area - solid > maxGap * perimeter) return undefined;
  const frame = frameInside(hull, height);
  if (!frame) return undefined;
  const side = Math.max(frame.rows.length, frame.columns.length);
  return side >= minSide && asymmetryOf(hull) <= maxAsymmetry * side ? frame : undefined;
}

const directions = Array.from({ length: 32 }, (_, i): Position => {
  const angle = (i * Math.PI) / 32;
  return [Math.cos(angle), Math.sin(angle)];
});

/** Returns the mean distance in pixels between a convex outline and itself after half a turn around its middle. */
function asymmetryOf(hull: readonly Edge[]): number {
  const middles = directions.map(([x, y]) => {
    const across = hull.map(({ from }) => x * from[0] + y * from[1]);
    return (Math.max(...across) + Math.min(...across)) / 2;
  });
  // The center of the half turn, by least squares.
  const [centerX, centerY] = ([0, 1] as const).map((axis) =>
    mean(middles.map((middle, i) => 2 * middle * directions[i]![axis])),
  );
  return 2 * mean(directions.map(([x, y], i) => Math.abs(middles[i]! - centerX! * x - centerY! * y)));
}

/** Finds the pixels whose centers are inside a convex polygon, at least `inset` from its sides. */
function frameInside(edges: readonly Edge[], height: number): PhotoFrame | undefined {
  const lines = Array.from({ length: height }, (_, y) => lineInside(edges, y + 0.5));
  const top = lines.findIndex((line) => line !== undefined);
  const found = lines.filter((line) => line !== undefined);
  if (found.length === 0) return undefined;
  const left = Math.min(...found.map(({ start }) => start));
  const rows = found.map(({ start, end }) => ({ start: start - left, end: end - left }));
  const columns: Line[] = [];
  rows.forEach(({ start, end }, y) => {
    for (let x = start; x < end; x++) columns[x] = { start: columns[x]?.start ?? y, end: y + 1 };
  });
  return { left, top, rows, columns };
}

/** Finds the pixels inside a polygon at the height `y`. */
function lineInside(edges: readonly Edge[], y: number): Line | undefined {
  let [left, right] = [-Infinity, Infinity];
  for (const { a, b, c } of edges) {
    // The side's line, moved inward, is at a·x = limit.
    const limit = inset - b * y - c;
    if (a > 0) left = Math.max(left, limit / a);
    else if (a < 0) right = Math.min(right, limit / a);
    else if (limit > 0) return undefined;
  }
  const [start, end] = [Math.ceil(left - 0.5), Math.floor(right + 0.5)];
  return end > start ? { start, end } : undefined;
}

/**
 * Takes the photo out of its frame: an opaque image of the frame's box, gray outside. If the outline is that of a cutout
 * after all, a network finds the whole. If colors continued beyond it, the network would find a label or a handle.
 */
export function takeOut(image: RgbaImage, { left, top, rows, columns }: PhotoFrame): RgbaImage {
  const [width, height] = [columns.length, rows.length];
  const data = new Uint8Array(4 * width * height).fill(128);
  rows.forEach(({ start, end }, y) => {
    const from = (top + y) * image.width + left;
    data.set(image.data.subarray(4 * (from + start), 4 * (from + end)), 4 * (y * width + start));
  });
  for (let i = 3; i < data.length; i += 4) data[i] = 255;
  return { width, height, data };
}

/** Converts the matte of what `takeOut` returned to one of the whole image. Outside the frame, it is 0. */
export function putBack({ width, data }: Matte, { left, top, rows }: PhotoFrame, image: RgbaImage): Matte {
  const whole = new Uint8Array(image.width * image.height);
  rows.forEach(({ start, end }, y) => {
    const line = data.subarray(y * width + start, y * width + end);
    whole.set(line, (top + y) * image.width + left + start);
  });
  return { width: image.width, height: image.height, data: whole };
}

/** Whether an object stands free in its frame. One that touches it may be the photo's own content, cut off. */
export function hasMargin({ width, data }: Matte, { rows, columns }: PhotoFrame): boolean {
  const isCovered = (x: number, y: number) => data[y * width + x]! >= 128;
  const sides = [
    rows.map(({ start }, y) => isCovered(start, y)),
    rows.map(({ end }, y) => isCovered(end - 1, y)),
    columns.map(({ start }, x) => isCovered(x, start)),
    columns.map(({ end }, x) => isCovered(x, end - 1)),
  ];
  return sides.every((side) => side.filter(Boolean).length <= maxSideShare * side.length);
}
