import type { PhotoWarning } from '@gen3d/schema/rules';
import { boundsOf, edgeCounts, type Matte } from '../base/image.js';
import { findPatches, gap } from './clean-matte.js';
import type { FoundMatte } from './matte.js';

/** A pixel of at least this coverage belongs to the object. */
const threshold = 128;

/** The object reaches an edge if it covers this share of the edge, because a round object may touch it at a point. */
const edgeShare = 0.05;
/** One edge is enough if the object covers this share of it, as a person does who is cut at the waist. */
const wholeEdgeShare = 0.25;

/** Patches are counted in the matte reduced to at most this many pixels a side, in which hairlines do not part them. */
const patchSide = 256;
/** A patch of this share of the largest one is an object, if their boxes are this far apart, as a share of the side. */
const objectShare = 0.15;
const apartShare = 0.02;

/** Pixels of the smallest input of a network. With fewer, the photo is enlarged. */
const minObjectSide = 128;

/**
 * Finds what makes the model of a photo worse than it could be.
 *
 * @param matte the matte of the whole photo
 * @param isCutOut whether the photo came with transparency. Cutouts are often cropped at the object's edges
 */
export function photoWarnings({ matte, isFramed }: FoundMatte, isCutOut: boolean): PhotoWarning[] {
  const bounds = boundsOf(matte, threshold);
  if (!bounds) return [];
  const side = Math.max(bounds.right - bounds.left, bounds.bottom - bounds.top);
  return [
    ...(!isCutOut && isCutOff(matte) ? (['cut_off'] as const) : []),
    ...(showsSeveral(matte) ? (['several_objects'] as const) : []),
    ...(side < minObjectSide ? (['low_resolution'] as const) : []),
    ...(isFramed ? (['framed_cutout'] as const) : []),
  ];
}

function isCutOff(matte: Matte): boolean {
  const { top, bottom, left, right } = edgeCounts(matte, threshold);
  const shares = [top / matte.width, bottom / matte.width, left / matte.height, right / matte.height];
  return shares.filter((covered) => covered >= edgeShare).length >= 2 || Math.max(...shares) >= wholeEdgeShare;
}

function showsSeveral(matte: Matte): boolean {
  const small = reduced(matte);
  const [main, ...others] = findPatches(small, threshold).patches.toSorted((a, b) => b.area - a.area);
  const apart = apartShare * Math.max(small.width, small.height);
  return main !== undefined && others.some((one) => one.area >= objectShare * main.area && gap(one, main) >= apart);
}

/** Keeps the largest coverage in each square of pixels. */
function reduced({ width, height, data }: Matte): Matte {
  const step = Math.ceil(Math.max(width, height) / patchSide);
  const [columns, rows] = [Math.ceil(width / step), Math.ceil(height / step)];
  const maxima = new Uint8Array(columns * rows);
  for (let y = 0; y < height; y++) {
    const row = Math.floor(y / step) * columns;
    for (let x = 0; x < width; x++) {
      const at = row + Math.floor(x / step);
      const value = data[y * width + x]!;
      if (value > maxima[at]!) maxima[at] = value;
    }
  }
  return { width: columns, height: rows, data: maxima };
}
