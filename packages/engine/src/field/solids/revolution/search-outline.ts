import type { Front, Outline } from '../solid.js';
import { atFront, type Fit } from './fit.js';
import { hollowOf } from './hollow.js';
import { final, largestInside, type Resolution, searched, type Top, widened, withFlatEnds } from './inside-outline.js';
import type { Axis, Hollow, Turned } from './turned.js';

/**
 * The maximum `error` of a solid, chosen on the validation set and on real photos: mugs have 0.20 and 0.52, cakes 0.30
 * and 0.36, the demo's teapot 0.47, bottles at most 0.27. Other shapes without a flat front have 0.60 or more.
 */
const maxError = 0.56;

/**
 * The maximum `edge` of a solid, shallower or deeper. A box seen from an edge has -0.3, one seen from its front 0.14, and
 * boxes with a smaller error than `maxError` mostly have 0.08 or more. The solids named above have at most 0.04.
 */
const maxEdge = 0.08;

/** The maximum `error` of the first candidate: twice that of the best one. With more, no other candidate is tried. */
const maxFirstError = 2 * maxError;

/** The minimum `coverage` of the first candidate, a little less than `findRevolution` demands of the best one. */
const minFirstCoverage = 0.6;

/**
 * The steps, in radians, in which the axis is turned in the photo, because a photo taken by hand may not be level. The
 * first one must lower the cost by at least `minRollGain`. In the validation set, it lowers the cost of a bottle, whose
 * photos are off by 3.5 degrees, by 0.16. It lowers the cost of level photos by at most 0.08: handles have an effect.
 */
const [rollSteps, minRollGain] = [[0.04, 0.02, 0.01], 0.12] as const;

/** A solid that fills the outline, and how well it agrees with the photo: the lower its cost, the better. */
export interface Candidate {
  readonly solid: Turned;
  readonly top: Top;
  /** How much more the axis leans than the network estimates, in radians. */
  readonly lift: number;
  readonly fit: Fit;
  readonly cost: number;
}

/** Makes the solid around an axis that fills the outline, except for handles and spouts. */
const fillOutline = (axis: Axis, top: Top, outline: Outline, { bounds }: Front, resolution: Resolution): Turned =>
  widened(withFlatEnds(largestInside(axis, outline, bounds, resolution), top, outline), outline);

/** Fills the outline around an axis. Its depth in `start` is a first guess, and its tilt the network's estimate. */
export function candidateAt(start: Axis, lift: number, top: Top, outline: Outline, front: Front): Candidate {
  const tiltRadians = Math.max(0, start.tiltRadians + lift);
  const fill = (axis: Axis) => fillOutline(axis, top, outline, front, searched);
  const { solid, fit } = atFront({ ...start, tiltRadians }, 2, fill, outline, front);
  const cost = fit.error - fit.coverage + 2 * (tiltRadians - start.tiltRadians) ** 2;
  return { solid, top, lift, fit, cost };
}

/** Tells whether the first candidate is worth a search. An empty prediction has no error, and NaN compares as false. */
export const isPromising = ({ coverage, error }: Fit): boolean =>
  coverage >= minFirstCoverage && error <= maxFirstError;

/**
 * Finds the solid of revolution that fills the outline and agrees best with the predicted front, if it agrees well
 * enough: first its tilt and its top, then its roll, then its axis to the left or right.
 */
export function searchOutline(
  start: Axis,
  first: Candidate,
  outline: Outline,
  front: Front,
): { solid: Turned; hollow: Hollow | undefined } | undefined {
  let best = first;
  const consider = (axis: Axis, lift: number, top: Top) => {
    const candidate = candidateAt(axis, lift, top, outline, front);
    if (candidate.cost < best.cost) best = candidate;
  };
  for (const lift of [-0.2, -0.1, 0, 0.1, 0.2]) {
    for (const top of ['pointed', 'flat'] as const) consider(start, lift, top);
  }
  const { lift, top } = best;
  const level = best;
  for (const step of rollSteps) {
    const { x, rollRadians } = best.solid;
    for (const turn of [-step, step]) consider({ ...start, x, rollRadians: rollRadians + turn }, lift, top);
    if (level.cost - best.cost < minRollGain) {
      best = level;
      break;
    }
  }
  const { x, rollRadians } = best.solid;
  const width = front.bounds.max[0] - front.bounds.min[0];
  for (const share of [-0.02, 0.02, -0.01, 0.01]) consider({ ...start, x: x + share * width, rollRadians }, lift, top);
  if (best.fit.error > maxError || Math.abs(best.fit.edge) > maxEdge) return undefined;
  const hollow = hollowOf(best.solid, front.density);
  return { solid: fillOutline(best.solid, hollow ? 'flat' : best.top, outline, front, final), hollow };
}
