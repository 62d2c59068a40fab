import { boxAroundBoth } from '../../../base/box.js';
import { frameScale } from '../../../base/camera.js';
import { sampleSquare } from '../../../base/interpolation.js';
import { signedDistance } from '../../distance-transform.js';
import { type FindSolid, type Front, type Outline, positionOf, seenSize, toPixels, withParts } from '../solid.js';
import { largestInside, searched } from './inside-outline.js';
import { candidateAt, isPromising, searchOutline } from './search-outline.js';
import { searchVessel } from './search-vessel.js';
import { type Axis, boundsOf, densityOf, type Turned } from './turned.js';

/** The minimum share of the object that the solid covers. Chosen on the validation set and on real photos. */
const minCoverage = 0.7;

/** The maximum share of slivers next to the solid, compared with what it covers. Chosen on the same photos. */
const maxSliver = 0.11;

/** Pixels next to the solid's outline that count as slivers, and not as a part. */
const sliverPixels = 3;

/**
 * Completes cups, bottles, cans, lamps and other solids of revolution, whose far side the network predicts dented.
 *
 * The largest solid of revolution inside the outline is found for several axes, with a flat base. If it covers most of
 * the outline and its front agrees with the predicted one, it replaces the prediction. It is hollow where the prediction
 * is. What is outside of the solid in the photo stays: handles, spouts, feet. A vessel on something wider, such as a cup
 * on its saucer, is found by the predicted front as well.
 *
 * On the validation set, this lowers the Chamfer distance of bottles from 0.021 to 0.014.
 */
export const findRevolution: FindSolid = (outline, front) => {
  const start = startIn(outline, front);
  const first = candidateAt(start, 0, 'pointed', outline, front);
  const fillsOutline = isPromising(first.fit);
  const search = fillsOutline ? searchOutline : searchVessel;
  const found = search(start, first, outline, front);
  if (!found) return undefined;
  const { solid, hollow } = found;
  const { covered, sliver, inside } = compareOutlines(solid, outline, front);
  if (covered < minCoverage || sliver > maxSliver * covered) return undefined;
  const { camera } = outline;
  // Around a plate, the prediction has scraps of its own bent plate, but no parts.
  const insideSolid = (u: number, v: number) =>
    fillsOutline ? sampleSquare(inside, seenSize, u, v) / toPixels : Infinity;
  return {
    density: withParts(densityOf(solid, hollow, camera), camera, 0, outline, front, insideSolid),
    camera,
    bounds: boxAroundBoth(front.bounds, boundsOf(solid)),
    elevation: { radians: solid.tiltRadians, spreadRadians: 0 },
    rollRadians: solid.rollRadians,
    completedAs: 'revolution',
  };
};

/** Finds the axis around which the outline has room for the largest solid, in the middle of the bounds' depth. */
function startIn(outline: Outline, { bounds, elevationRadians: tiltRadians }: Front): Axis {
  const width = bounds.max[0] - bounds.min[0];
  const z = (bounds.min[2] + bounds.max[2]) / 2;
  let [x, area] = [(bounds.min[0] + bounds.max[0]) / 2, 0];
  const axisAt = (atX: number): Axis => ({ x: atX, z, tiltRadians, rollRadians: 0 });
  for (const spread of [0.3, 0.1, 0.03]) {
    const middle = x;
    for (const share of [-1, -0.5, 0, 0.5, 1]) {
      const axis = axisAt(middle + share * spread * width);
      const found = largestInside(axis, outline, bounds, searched).radii.reduce((sum, radius) => sum + radius, 0);
      if (found > area) [x, area] = [axis.x, found];
    }
  }
  return axisAt(x);
}

/**
 * Compares the outlines: the shares of the object's pixels that the solid covers and that are next to it, and how far
 * inside the solid's outline each pixel is [seenSize·seenSize], in pixels.
 */
function compareOutlines(
  solid: Turned,
  { camera }: Outline,
  { seen }: Front,
): { covered: number; sliver: number; inside: Float32Array } {
  const density = densityOf(solid, undefined, camera);
  const { min, max } = boundsOf(solid);
  const samples = 64;
  const mask = Float32Array.from({ length: seenSize * seenSize }, (_, pixel) => {
    const [u, v] = positionOf(pixel);
    for (let i = 0; i < samples; i++) {
      const z = min[2] + ((i + 0.5) / samples) * (max[2] - min[2]);
      const scale = frameScale(camera, z);
      if (density(u * scale, -v * scale, z) > 0) return 1;
    }
    return 0;
  });
  const inside = signedDistance(mask, seenSize);
  let [covered, sliver] = [0, 0];
  seen.pixel.forEach((pixel, i) => {
    if (inside[pixel]! > 0) covered += seen.coverage[i]!;
    else if (inside[pixel]! > -sliverPixels) sliver += seen.coverage[i]!;
  });
  return { covered: covered / seen.totalCoverage, sliver: sliver / seen.totalCoverage, inside };
}
