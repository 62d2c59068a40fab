import { clamp } from '../base/interpolation.js';
import type { FusedDensity, FusedView } from './fuse.js';
import { correctionAt } from './give-way.js';
import { mapSize, newSample, sampleOutline } from './map.js';
import { pointOnRay, reliefDepth, seePoint } from './view-camera.js';

// Thin parts, such as legs and handles, break where outlines are off by more than their width. Every ray inside the
// front photo's outline hits the object, so where rays miss the fused shape, they get a piece of it: at the depth which
// the other outlines allow most. Doing the same for the other photos would leave crumbs where cameras are a little off.

/** Rays a side of the frame. */
const raysAcross = 128;
/** Rays this far inside an outline must hit, in units of the frame. The edge itself is rounded. */
const minInset = 0.006;
/** Depths at which a ray is tried, before and behind the predicted front, in units of space. */
const depthStep = 0.012;
const [stepsBefore, stepsBehind] = [16, 48];
/** The weight of a distance from the predicted front, where one from the other outlines has 1. */
const distanceCost = 0.02;
/** Half the thickness of what is added. */
const halfThickness = 0.016;
/** Logits per unit of space. */
const slope = 80;
/**
 * A miss counts if less than this share of the rays around it hit, within so many rays. Where only a rim is missing, an
 * outline is a little too narrow, and pieces would fray the edge.
 */
const maxHitShare = 0.15;
const around = 3;

/** Depths at which a view's rays get a piece of the object: [raysAcross²], NaN for none. */
type Cover = Float32Array;

/** Adds to a density what the front photo's outline shows and it misses. */
export function covered(views: readonly FusedView[], density: FusedDensity): FusedDensity {
  const { view, camera } = views[0]!;
  const cover = coverOf(views, density);
  if (cover.every(Number.isNaN)) return density;
  const seen = new Float64Array(4);
  const sample = newSample();
  return (x, y, z) => {
    const value = density(x, y, z);
    seePoint(camera, x, y, z, seen);
    const distance = Math.abs(depthNear(cover, seen[0]!, seen[1]!) - seen[2]!);
    if (!(distance < 2 * halfThickness)) return value;
    sampleOutline(view.wideOutline, mapSize, seen[0]!, seen[1]!, sample);
    const inside = Math.min(sample.value * seen[3]!, halfThickness - distance) * slope;
    return Math.max(value, clamp(inside, -3, 3));
  };
}

/** The depth of the nearest ray that has one. */
function depthNear(cover: Cover, u: number, v: number): number {
  const x = Math.floor(((u + 1) * raysAcross) / 2);
  const y = Math.floor(((v + 1) * raysAcross) / 2);
  return x < 0 || y < 0 || x >= raysAcross || y >= raysAcross ? Number.NaN : cover[y * raysAcross + x]!;
}

function coverOf(views: readonly FusedView[], density: FusedDensity): Cover {
  const cover: Cover = new Float32Array(raysAcross * raysAcross).fill(Number.NaN);
  const { view, camera, correction } = views[0]!;
  const sample = newSample();
  const point = new Float64Array(3);
  const fronts = new Float32Array(cover.length).fill(Number.NaN);
  const missed = new Uint8Array(cover.length);
  for (let ray = 0; ray < cover.length; ray++) {
    const [u, v] = positionOf(ray);
    sampleOutline(view.outline, mapSize, u, v, sample);
    if (sample.value < minInset) continue;
    const pixel = Math.floor(((v + 1) * mapSize) / 2) * mapSize + Math.floor(((u + 1) * mapSize) / 2);
    fronts[ray] = reliefDepth(camera, view.front[pixel]!, u, v) + correctionAt(correction, u, v);
    if (!hits(views[0]!, density, u, v, fronts[ray]!, point)) missed[ray] = 1;
  }
  const isTorn = missed.map((miss, ray) => (miss === 1 && hitShare(ray, fronts, missed) < maxHitShare ? 1 : 0));
  for (let ray = 0; ray < cover.length; ray++) {
    if (missed[ray] === 0 || !isNear(ray, isTorn)) continue;
    cover[ray] = bestDepth(views, ...positionOf(ray), fronts[ray]!);
  }
  return smoothed(cover);
}

const positionOf = (ray: number): [u: number, v: number] => [
  (((ray % raysAcross) + 0.5) / raysAcross) * 2 - 1,
  ((Math.floor(ray / raysAcross) + 0.5) / raysAcross) * 2 - 1,
];

/** The rays in the square around a ray. */
function* raysAround(ray: number, reach: number): Generator<number> {
  const [column, row] = [ray % raysAcross, Math.floor(ray / raysAcross)];
  for (let y = Math.max(0, row - reach); y <= Math.min(raysAcross - 1, row + reach); y++) {
    for (let x = Math.max(0, column - reach); x <= Math.min(raysAcross - 1, column + reach); x++)
      yield y * raysAcross + x;
  }
}

/** The share of rays around a ray that hit, of those inside the outline. */
function hitShare(ray: number, fronts: Float32Array, missed: Uint8Array): number {
  let [hit, all] = [0, 0];
  for (const other of raysAround(ray, around)) {
    if (Number.isNaN(fronts[other]!)) continue;
    all++;
    if (missed[other] === 0) hit++;
  }
  return hit / all;
}

function isNear(ray: number, torn: Uint8Array): boolean {
  for (const other of raysAround(ray, around)) if (torn[other] === 1) return true;
  return false;
}

/** Evens out the depths, so that a part is one piece. */
function smoothed(cover: Cover): Cover {
  return cover.map((depth, ray) => {
    if (Number.isNaN(depth)) return depth;
    let [sum, count] = [0, 0];
    for (const other of raysAround(ray, around)) {
      // Farther ones belong to another part.
      if (!(Math.abs(cover[other]! - depth) < 4 * halfThickness)) continue;
      sum += cover[other]!;
      count++;
    }
    return sum / count;
  });
}

/** Whether a ray meets the shape, first where the front is expected. */
function hits({ camera }: FusedView, density: FusedDensity, u: number, v: number, front: number, point: Float64Array) {
  for (let step = 0; step <= stepsBehind; step++) {
    pointOnRay(camera, u, v, front - (step + 0.5) * depthStep, point);
    if (density(point[0]!, point[1]!, point[2]!) > 0) return true;
  }
  for (let step = 0; step <= stepsBefore; step++) {
    pointOnRay(camera, u, v, front + (step + 0.5) * depthStep, point);
    if (density(point[0]!, point[1]!, point[2]!) > 0) return true;
  }
  return false;
}

/** The depth of a ray of the front that the other outlines forbid least, and of several such depths the first. */
function bestDepth([front, ...others]: readonly FusedView[], u: number, v: number, expected: number): number {
  const point = new Float64Array(3);
  const seen = new Float64Array(4);
  const sample = newSample();
  let [best, depth] = [Infinity, expected];
  for (let step = -stepsBefore; step <= stepsBehind; step++) {
    const z = expected - step * depthStep;
    pointOnRay(front!.camera, u, v, z, point);
    let forbidden = 0;
    for (const { view, camera, slack } of others) {
      seePoint(camera, point[0]!, point[1]!, point[2]!, seen);
      sampleOutline(view.outline, mapSize, seen[0]!, seen[1]!, sample);
      forbidden = Math.max(forbidden, -sample.value * seen[3]! - slack);
    }
    const cost = forbidden + distanceCost * Math.abs(step * depthStep);
    if (cost < best) [best, depth] = [cost, z];
  }
  return depth;
}
