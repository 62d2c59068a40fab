import type { PlacedView } from './bend.js';
import { centerOf, mapSize, newSample, sampleMap, sampleOutline } from './map.js';
import { pointOnRay, reliefDepth, seePoint } from './view-camera.js';

// A front that is too far back carves away what another photo's outline shows: ears, tails, legs. Every ray inside an
// outline hits the object, so where only fronts forbid all of its depths, these fronts move toward their cameras.

/** Pixels a side of a map of how much nearer a front is than predicted. */
export const correctionSize = 128;

/** Rays a side of the frame, and their least distance inside the outline, in units of the frame. */
const raysAcross = 60;
const minInset = 0.006;
/** Depths at which a ray is tried, from the camera away, in units of space. */
const [nearest, farthest, steps] = [0.75, -0.75, 40];
/** A front that forbids a depth by less does not carve. */
const tolerance = 0.004;
/** A front never moves by more at once. */
const maxMove = 0.5;
/** An outline counts this many times as much as a front. */
const outlineWeight = 3;
/** Cameras or outlines contradict each other by more than this, and no front can explain it. */
const maxOutside = 0.04;
/** Standard deviation of the bump by which a front moves, in units of the frame. */
const bumpRadius = 0.045;
const rounds = 2;

/** Moves are recorded for each view: where it is in its frame, and by how much. */
type Moves = { readonly u: number; readonly v: number; readonly by: number }[];

/** A view with a map [correctionSize²] of the units of space by which its front is nearer than predicted. */
export interface CorrectedView extends PlacedView {
  readonly correction: Float32Array;
}

const sample = newSample();

export function correctionAt(correction: Float32Array, u: number, v: number): number {
  sampleMap(correction, correctionSize, u, v, sample);
  return sample.value;
}

/** Returns the views with fronts that let through what every outline shows. */
export function giveWay(views: readonly CorrectedView[]): CorrectedView[] {
  let current = [...views];
  for (let round = 0; round < rounds; round++) {
    const moves = movesOf(current);
    if (moves.every((list) => list.length === 0)) break;
    current = current.map((view, i) => ({ ...view, correction: withBumps(view.correction, moves[i]!) }));
  }
  return current;
}

function movesOf(views: readonly CorrectedView[]): Moves[] {
  const moves: Moves[] = views.map(() => []);
  const look = lookerAt(views);
  const point = new Float64Array(3);
  for (const { view, camera, correction } of views) {
    for (let ray = 0; ray < raysAcross * raysAcross; ray++) {
      const u = centerOf(ray % raysAcross, raysAcross);
      const v = centerOf(Math.floor(ray / raysAcross), raysAcross);
      sampleOutline(view.outline, mapSize, u, v, sample);
      if (sample.value < minInset) continue;
      const worstAt = (z: number) => {
        pointOnRay(camera, u, v, z, point);
        return look(point).worst;
      };
      sampleMap(view.front, mapSize, u, v, sample);
      let depth = reliefDepth(camera, sample.value, u, v) + correctionAt(correction, u, v);
      // Nearly all rays hit the object at their own front.
      let best = worstAt(depth);
      for (let step = 0; step <= steps && best > tolerance; step++) {
        const z = nearest + ((farthest - nearest) * step) / steps;
        const worst = worstAt(z);
        if (worst < best) [best, depth] = [worst, z];
      }
      if (best <= tolerance) continue;
      pointOnRay(camera, u, v, depth, point);
      const { outside, ahead, us, vs } = look(point);
      if (outside > maxOutside) continue;
      for (let i = 0; i < views.length; i++) {
        const by = ahead[i]!;
        if (by > tolerance && by < maxMove) moves[i]!.push({ u: us[i]!, v: vs[i]!, by: by + tolerance });
      }
    }
  }
  return moves;
}

/** Says of a point how far it is outside the outlines and before the fronts. The result is valid until the next call. */
function lookerAt(views: readonly CorrectedView[]) {
  const seen = new Float64Array(4);
  const found = {
    outside: 0,
    worst: 0,
    ahead: new Float64Array(views.length),
    us: new Float64Array(views.length),
    vs: new Float64Array(views.length),
  };
  return (point: Float64Array) => {
    found.outside = 0;
    found.worst = 0;
    for (let i = 0; i < views.length; i++) {
      const { view, camera, correction } = views[i]!;
      seePoint(camera, point[0]!, point[1]!, point[2]!, seen);
      const u = seen[0]!;
      const v = seen[1]!;
      sampleOutline(view.outline, mapSize, u, v, sample);
      found.outside = Math.max(found.outside, -sample.value * seen[3]!);
      found.us[i] = u;
      found.vs[i] = v;
      found.ahead[i] = 0;
      if (Math.abs(u) >= 1 || Math.abs(v) >= 1) continue;
      sampleMap(view.front, mapSize, u, v, sample);
      const front = reliefDepth(camera, sample.value, u, v);
      found.ahead[i] = seen[2]! - front - correctionAt(correction, u, v);
      found.worst = Math.max(found.worst, found.ahead[i]!);
    }
    found.worst = Math.max(found.worst, outlineWeight * found.outside);
    return found;
  };
}

/** Adds the largest of the smooth bumps at each position. */
function withBumps(correction: Float32Array, moves: Moves): Float32Array {
  const bumps = new Float32Array(correction.length);
  const reach = Math.ceil(1.1 * bumpRadius * correctionSize);
  for (const { u, v, by } of moves) {
    const x = ((u + 1) * correctionSize - 1) / 2;
    const y = ((v + 1) * correctionSize - 1) / 2;
    for (let row = Math.max(0, Math.floor(y) - reach); row <= Math.min(correctionSize - 1, y + reach); row++) {
      for (
        let column = Math.max(0, Math.floor(x) - reach);
        column <= Math.min(correctionSize - 1, x + reach);
        column++
      ) {
        const squared = ((column - x) ** 2 + (row - y) ** 2) * (2 / correctionSize) ** 2;
        const bump = by * Math.exp(-squared / (2 * bumpRadius ** 2));
        const at = row * correctionSize + column;
        if (bump > bumps[at]!) bumps[at] = bump;
      }
    }
  }
  return correction.map((value, i) => value + bumps[i]!);
}
