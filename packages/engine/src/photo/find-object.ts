import { boundsOf, type Matte, type RgbaImage } from '../base/image.js';
import type { MatteManifest } from '../bundle/manifest.js';
import { cleanMatte } from './clean-matte.js';
import { enlargeMatte, type Rectangle, type SmallMatte } from './enlarge-matte.js';

/** Estimates the matte of a part of a photo, scaled to a square of `size` pixels a side. */
export type Pass = (part: Rectangle, size: number) => Promise<SmallMatte>;

/** Coverage from which a pixel of the first pass belongs to the object. Low, because thin parts are faint in it. */
const boxThreshold = 32;

/** Space around the object in the close-up, as a share of its longer side: the first pass may miss thin ends. */
const margin = 0.1;

/**
 * Side of a square, as a share of the matte's. Half-covered pixels occur along edges, but a whole square of them shows
 * that the network has not decided whether this part belongs to the object.
 */
const uncertainSide = 0.02;

/**
 * If a larger share of the object is in such squares, the first pass is uncertain. On the matting set, the share is
 * either at most 0.3 %, even for objects made of wires, or more than 2 %. In the latter case, the close-up is often
 * wrong too.
 */
const maxUncertainShare = 0.01;

/**
 * Finds the object of an opaque photo.
 *
 * With the quick sizes, a first pass finds where the object is, and a close-up of that part gives its matte. This shows
 * more detail than one pass at the whole photo, in less time. If the first pass is uncertain, one pass at full size
 * decides.
 * @returns the matte, of the photo's size, or undefined if there is no object
 */
export async function findObject(
  photo: RgbaImage,
  { size, quick }: Pick<MatteManifest['input'], 'size' | 'quick'>,
  pass: Pass,
): Promise<Matte | undefined> {
  const whole = { left: 0, top: 0, width: photo.width, height: photo.height };
  if (quick) {
    const located = clean(await pass(whole, quick.locate));
    if (located && isCertain(located)) {
      const part = partAround(located, photo);
      const closeUp = clean(await pass(part, quick.closeUp));
      if (closeUp) return enlargeMatte(photo, part, closeUp);
    }
  }
  const found = clean(await pass(whole, size));
  return found && enlargeMatte(photo, whole, found);
}

/** Removes islands at the small size, where there are fewer pixels and each patch still has its full coverage. */
function clean(small: SmallMatte): SmallMatte | undefined {
  const cleaned = cleanMatte(small);
  return cleaned && { ...cleaned, colors: small.colors };
}

function isCertain({ width, height, data }: Matte): boolean {
  const side = Math.max(1, Math.round(uncertainSide * width));
  // For each column, the number of rows up to this one in which a line of `side` half-covered pixels ends.
  const rows = new Uint16Array(width);
  let visible = 0;
  let uncertain = 0;
  for (let y = 0; y < height; y++) {
    let line = 0;
    for (let x = 0; x < width; x++) {
      const value = data[y * width + x]!;
      if (value >= boxThreshold) visible++;
      line = value >= boxThreshold && value < 255 - boxThreshold ? line + 1 : 0;
      rows[x] = line >= side ? rows[x]! + 1 : 0;
      if (rows[x]! >= side) uncertain++;
    }
  }
  return uncertain <= maxUncertainShare * visible;
}

/** Returns the box of the object with a margin, in pixels of the photo. */
function partAround(matte: Matte, photo: RgbaImage): Rectangle {
  const { width, height } = matte;
  const { left, top, right, bottom } = boundsOf(matte, boxThreshold)!;
  const [scaleX, scaleY] = [photo.width / width, photo.height / height];
  const space = margin * Math.max((right - left) * scaleX, (bottom - top) * scaleY);
  const x = Math.max(0, Math.floor(left * scaleX - space));
  const y = Math.max(0, Math.floor(top * scaleY - space));
  return {
    left: x,
    top: y,
    width: Math.min(photo.width, Math.ceil(right * scaleX + space)) - x,
    height: Math.min(photo.height, Math.ceil(bottom * scaleY + space)) - y,
  };
}
