import { mean, median } from '../../../base/averages.js';
import { type Camera, frameScale } from '../../../base/camera.js';
import type { Front, Outline } from '../solid.js';
import { type Axis, boundsOf, endsOf, fromAxis, type Turned } from './turned.js';

/** How well a solid explains a photo. */
export interface Fit {
  /** The share of the object that the solid covers. */
  readonly coverage: number;
  /** The mean distance between the fronts, in shares of the solid's relief. */
  readonly error: number;
  /** How much deeper the front is halfway to the side than that of a circle, in radii. */
  readonly edge: number;
  /** How much nearer to the camera the predicted front is, in units of camera space. */
  readonly offset: number;
}

/** Only every `stride`-th pixel of the object is compared, which saves time. */
const stride = 3;

/** Depths at which a ray is tested. */
const samples = 48;

export function fitOf(solid: Turned, { camera }: Outline, { seen }: Front): Fit {
  const cast = raysAt(solid, camera);
  const hits: (Hit & { gap: number })[] = [];
  let [covered, all] = [0, 0];
  for (let i = 0; i < seen.u.length; i += stride) {
    all += seen.coverage[i]!;
    const hit = cast(seen.u[i]!, seen.v[i]!);
    if (!hit) continue;
    covered += seen.coverage[i]!;
    const gap = seen.front[i]! - hit.depth;
    // A lid may be open, and depth is uncertain at the outline.
    if (seen.coverage[i]! > 0.9 && !hit.isLid && !Number.isNaN(gap)) hits.push({ ...hit, gap });
  }
  const offset = median(hits.map(({ gap }) => gap));
  const middle = median(hits.map(({ depth }) => depth));
  const minRadius = 0.3 * Math.max(...solid.radii);
  const meanGap = (from: number, to: number) => {
    const between = hits.filter(({ aside, radius }) => aside >= from && aside < to && radius > minRadius);
    return mean(between.map(({ gap, radius }) => gap / radius));
  };
  return {
    coverage: covered / all,
    error:
      mean(hits.map(({ gap }) => Math.abs(gap - offset))) / mean(hits.map(({ depth }) => Math.abs(depth - middle))),
    edge: meanGap(0.35, 0.7) - meanGap(0, 0.2),
    offset,
  };
}

/**
 * Moves an axis to the depth at which its solid agrees best with the predicted front. Each round makes the solid again,
 * because the perspective depends a little on how far the axis is away.
 */
export function atFront(
  start: Axis,
  rounds: number,
  turn: (axis: Axis) => Turned,
  outline: Outline,
  front: Front,
): { solid: Turned; fit: Fit } {
  let solid = turn(start);
  let fit = fitOf(solid, outline, front);
  for (let round = 0; round < rounds; round++) {
    solid = turn({ ...start, z: solid.z + fit.offset });
    fit = fitOf(solid, outline, front);
  }
  return { solid, fit };
}

/** The point at which a ray enters a solid. */
interface Hit {
  /** As z in camera space. */
  readonly depth: number;
  /** The distance from the middle to the left or right, in radii. */
  readonly aside: number;
  /** The radius of the solid at this height. */
  readonly radius: number;
  /** The ray enters through the upper end. */
  readonly isLid: boolean;
}

/** Returns a function that casts a ray through a position in the frame. */
function raysAt(solid: Turned, camera: Camera): (u: number, v: number) => Hit | undefined {
  const { low, rowHeight, radii } = solid;
  const place = fromAxis(solid);
  const { min, max } = boundsOf(solid);
  const top = low + (endsOf(radii)[1] + 1) * rowHeight;
  const step = (max[2] - min[2]) / samples;
  return (u, v) => {
    let before = -step;
    for (let k = 0; k <= samples; k++) {
      const z = max[2] - k * step;
      const scale = frameScale(camera, z);
      const [along, toward, side] = place(u * scale, -v * scale, z);
      const radius = radii[Math.floor((along - low) / rowHeight)] ?? 0;
      const inside = radius - Math.hypot(toward, side);
      if (radius > 0 && inside > 0) {
        const throughEnd = before === -Infinity;
        return {
          depth: throughEnd ? z + step / 2 : z + (step * inside) / (inside - before),
          aside: Math.abs(side) / radius,
          radius,
          isLid: throughEnd && along > top - 2.5 * rowHeight && inside > 2 * step,
        };
      }
      // A ray that comes from above or below the solid enters through an end, whose depth is not interpolated.
      before = radius === 0 ? -Infinity : inside;
    }
    return undefined;
  };
}
