import { type Box, boxAround, extentOf } from '../base/box.js';
import type { ScalarGrid } from '../field/sample-grid.js';
import type { BentView } from './bend.js';
import { type Evidence, fusedEvidence, leastEvidence } from './evidence.js';
import { centerOf, mapSize, newSample, sampleOutline } from './map.js';
import { pointOnRay } from './view-camera.js';

// Settles contradictions between photos, whose cameras are off or whose networks disagree. Together, their outlines and
// fronts would carve away thin parts such as legs and handles. But every ray inside an outline must hit the object. So
// where a ray misses, the evidence is lifted at the point that it forbids least, until that point is inside. Neighbors
// support each other, so that a part stays in one piece, and crumbs vanish.

/** Cells along the longest side of the grid. */
const cells = 80;
const rounds = 6;

/** Logits that a sample gains if everything around it is inside, and loses if everything is outside. */
const support = 1.5;

/** Rays across a frame, and their minimum distance inside the outline, in units of the frame. */
const raysAcross = 128;
const minInset = 0.004;

/** A ray hits if a logit on it is at least `hit`. If it misses, samples are lifted, but by at most `maxLift`. */
interface Demand {
  readonly hit: number;
  readonly maxLift: number;
}

/** Keeps the front of a model as good as with one photo. The margin keeps parts that are thin for the final grid. */
const ofFront: Demand = { hit: 1.5, maxLift: Infinity };
const ofOthers: Demand = { hit: 0, maxLift: 4 };

/** Half the side of the searched space, the cells along it, and the minimum logit within a cell of the surface. */
const reach = 1.1;
const [coarseCells, leastNear] = [64, -2];

/**
 * @param views the front first
 * @returns the logits to add to the evidence, and the box around what is inside
 */
export function settle(views: readonly BentView[]): { lift: ScalarGrid; bounds: Box } {
  const space: Box = { min: [-reach, -reach, -reach], max: [reach, reach, reach] };
  const grid = gridOf(views, boxWhere(gridOf(views, space, coarseCells), leastEvidence), cells);
  const evidence = grid.values;
  const total: ScalarGrid = { ...grid, values: evidence.slice() };
  const rays = views.map((view) => raysOf(view, grid));
  let lift = new Float32Array(evidence.length);
  for (let round = 0; round < rounds; round++) {
    const supports = supportsOf(total);
    for (let n = 0; n < lift.length; n++) total.values[n] = evidence[n]! + lift[n]! + supports[n]!;
    const raised = lift.slice();
    for (const [i, list] of rays.entries()) raise(total, list, i === 0 ? ofFront : ofOthers, lift, raised);
    for (let n = 0; n < lift.length; n++) total.values[n]! += raised[n]! - lift[n]!;
    lift = raised;
  }
  const supports = supportsOf(total);
  for (let n = 0; n < lift.length; n++) {
    lift[n]! += supports[n]!;
    total.values[n] = evidence[n]! + lift[n]!;
  }
  return { lift: { ...grid, values: lift }, bounds: boxWhere(total, leastNear) };
}

/** Samples the evidence on a grid, without that of the front photo's outline. */
function gridOf(views: readonly BentView[], box: Box, cellsAlong: number): ScalarGrid {
  const cell = extentOf(box) / cellsAlong;
  const samplesAlong = (axis: 0 | 1 | 2) => Math.ceil((box.max[axis] - box.min[axis]) / cell) + 1;
  const size = [samplesAlong(0), samplesAlong(1), samplesAlong(2)] as const;
  const evidenceAt = fusedEvidence(views);
  const found: Evidence = { outline: 0, others: 0 };
  const grid = { values: new Float32Array(size[0] * size[1] * size[2]), size, origin: box.min, cell };
  for (let n = 0; n < grid.values.length; n++) {
    const [x, y, z] = pointOf(grid, n);
    evidenceAt(x, y, z, found);
    grid.values[n] = found.others;
  }
  return grid;
}

/** Returns the box around the samples above a value, or the whole space without any, with a margin of one cell. */
function boxWhere(grid: ScalarGrid, least: number): Box {
  const points: number[] = [];
  for (let n = 0; n < grid.values.length; n++) if (grid.values[n]! > least) points.push(...pointOf(grid, n));
  if (points.length === 0) points.push(-reach, -reach, -reach, reach, reach, reach);
  return boxAround(Float32Array.from(points), grid.cell);
}

function pointOf({ size: [nx, ny], origin: [x, y, z], cell }: ScalarGrid, n: number): [number, number, number] {
  return [x + (n % nx) * cell, y + (Math.floor(n / nx) % ny) * cell, z + Math.floor(n / (nx * ny)) * cell];
}

/** A ray inside an outline, whose step is as long as a cell. Positions are in cells of the grid. */
interface Ray {
  readonly start: readonly number[];
  readonly step: readonly number[];
  /** The step at which it last hit or came closest, where it most likely hits next. */
  lastBest: number;
}

function raysOf({ view, camera }: BentView, { origin, cell }: ScalarGrid): readonly Ray[] {
  const sample = newSample();
  const [near, far] = [new Float64Array(3), new Float64Array(3)];
  const axes = [0, 1, 2] as const;
  return Array.from({ length: raysAcross * raysAcross }, (_, ray) => {
    const u = centerOf(ray % raysAcross, raysAcross);
    const v = centerOf(Math.floor(ray / raysAcross), raysAcross);
    sampleOutline(view.outline, mapSize, u, v, sample);
    if (sample.value < minInset) return [];
    pointOnRay(camera, u, v, reach, near);
    pointOnRay(camera, u, v, reach - cell, far);
    const start = axes.map((axis) => (near[axis]! - origin[axis]!) / cell);
    return [{ start, step: axes.map((axis) => (far[axis]! - near[axis]!) / cell), lastBest: 0 }];
  }).flat();
}

/** Raises the lift where rays miss. @param raised the lift after this round */
function raise(
  total: ScalarGrid,
  rays: readonly Ray[],
  { hit, maxLift }: Demand,
  lift: Float32Array,
  raised: Float32Array,
): void {
  const [nx, ny] = total.size;
  const steps = Math.ceil((2 * reach) / total.cell);
  for (const ray of rays) {
    const { start, step } = ray;
    const valueAt = (s: number) =>
      trilinear(total, start[0]! + s * step[0]!, start[1]! + s * step[1]!, start[2]! + s * step[2]!);
    if (valueAt(ray.lastBest) >= hit) continue;
    let best = -Infinity;
    let place = 0;
    for (let s = 0; s < steps && best < hit; s++) {
      const value = valueAt(s);
      if (value <= best) continue;
      best = value;
      place = s;
    }
    ray.lastBest = place;
    if (best >= hit || best === -Infinity) continue;
    const [i, j, k] = start.map((at, axis) => Math.floor(at + place * step[axis]!));
    const first = (k! * ny + j!) * nx + i!;
    for (const corner of [0, 1, nx, nx + 1]) {
      for (const n of [first + corner, first + corner + nx * ny]) {
        raised[n] = Math.max(raised[n]!, Math.min(lift[n]! + hit - best, maxLift));
      }
    }
  }
}

/** Returns the lift at a point of space; 0 outside the grid. */
export function liftAt(lift: ScalarGrid, x: number, y: number, z: number): number {
  const { origin, cell } = lift;
  const value = trilinear(lift, (x - origin[0]) / cell, (y - origin[1]) / cell, (z - origin[2]) / cell);
  return value === -Infinity ? 0 : value;
}

/** Interpolates a grid at a position in cells; -Infinity outside the grid. */
function trilinear({ values, size: [nx, ny, nz] }: ScalarGrid, x: number, y: number, z: number): number {
  if (!(x >= 0 && y >= 0 && z >= 0 && x < nx - 1 && y < ny - 1 && z < nz - 1)) return -Infinity;
  const [i, j, k] = [Math.floor(x), Math.floor(y), Math.floor(z)];
  const right = x - i;
  const up = y - j;
  const row = (n: number) => values[n]! + (values[n + 1]! - values[n]!) * right;
  const first = (k * ny + j) * nx + i;
  const near = row(first) + (row(first + nx) - row(first)) * up;
  const next = first + nx * ny;
  const far = row(next) + (row(next + nx) - row(next)) * up;
  return near + (far - near) * (z - k);
}

/** Returns the logits that each sample gains from the samples around it. */
function supportsOf({ values, size: [nx, ny] }: ScalarGrid): Float32Array {
  let from = values.map((logit) => 1 / (1 + Math.exp(-logit)));
  let to = new Float32Array(values.length);
  for (const stride of [1, nx, nx * ny]) {
    for (let n = stride; n < to.length - stride; n++) {
      to[n] = 0.25 * (from[n - stride]! + from[n + stride]!) + 0.5 * from[n]!;
    }
    [from, to] = [to, from];
  }
  return from.map((share) => support * (2 * share - 1));
}
