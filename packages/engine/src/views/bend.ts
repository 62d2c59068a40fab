import { centerOf, mapSize, newSample, sampleMap, sampleOutline } from './map.js';
import type { PreparedView } from './prepared-view.js';
import { pointOnRay, reliefDepth, seePoint, type ViewCamera } from './view-camera.js';

// Networks predict the front of each photo on its own, and are off by 1 to 6 % of an object's size. Views that disagree
// are bent until they agree: each gets a smooth map of how much nearer its front is. A front moves along the rays of its
// own photo, which therefore still shows the same. Lengths are in units of space, in which an object is about 1 long.

/** Nodes a side of a view's map of bends. */
export const bendSize = 24;

/** Every so many pixels of a front is compared with the other views. */
const pixelStep = 4;

/** Standard deviation of the difference between two fronts at the same place. */
const frontSpread = 0.012;
/** Of an outline. */
const outlineSpread = 0.006;
/** Of the bend itself, and of its bending between neighboring nodes. */
const bendSpread = 0.12;
const stiffness = 0.006;
/** Fronts that differ by more than this at a place show different surfaces. */
const maxDifference = 0.12;
const minTrust = 0.05;

const rounds = 3;
const solverSteps = 25;

/** A step along a ray for slopes. */
const probe = 0.01;

/** A view at its camera in the shared space. */
export interface PlacedView {
  readonly view: PreparedView;
  readonly camera: ViewCamera;
}

/** A target for the weighted sum of the bends at eight nodes. Node 0 of a view is its number times bendSize². */
interface Equation {
  readonly nodes: Int32Array;
  readonly factors: Float64Array;
  readonly target: number;
}

/** Returns for each view a map [bendSize²] of the units of space by which its front is nearer than predicted. */
export function bendViews(placed: readonly PlacedView[]): Float32Array[] {
  const count = bendSize * bendSize;
  let bends = new Float64Array(count * placed.length);
  for (let round = 0; round < rounds; round++) {
    const maps = placed.map((_, i) => Float32Array.from(bends.subarray(i * count, (i + 1) * count)));
    const equations = [...smoothness(placed.length), ...disagreements(placed, maps)];
    bends = solve(equations, bends);
  }
  return placed.map((_, i) => Float32Array.from(bends.subarray(i * count, (i + 1) * count)));
}

/** The bend at a position of the frame. */
const sample = newSample();
export function bendAt(bend: Float32Array, u: number, v: number): number {
  sampleMap(bend, bendSize, u, v, sample);
  return sample.value;
}

/** Bends are small, and nearly linear between neighbors. */
function smoothness(views: number): Equation[] {
  const equations: Equation[] = [];
  const add = (nodes: readonly number[], factors: readonly number[]) =>
    equations.push({ nodes: Int32Array.from(nodes), factors: Float64Array.from(factors), target: 0 });
  for (let node = 0; node < views * bendSize * bendSize; node++) {
    const [x, y] = [node % bendSize, Math.floor(node / bendSize) % bendSize];
    add([node], [1 / bendSpread]);
    const second = [1 / stiffness, -2 / stiffness, 1 / stiffness];
    if (x > 0 && x < bendSize - 1) add([node - 1, node, node + 1], second);
    if (y > 0 && y < bendSize - 1) add([node - bendSize, node, node + bendSize], second);
  }
  return equations;
}

/** Where a front is outside another outline, before another front, or beside another front of the same surface. */
function disagreements(placed: readonly PlacedView[], bends: readonly Float32Array[]): Equation[] {
  const equations: Equation[] = [];
  const [here, ahead] = [new Float64Array(3), new Float64Array(3)];
  for (const [i, from] of placed.entries()) {
    for (let pixel = 0; pixel < mapSize * mapSize; pixel++) {
      const [x, y] = [pixel % mapSize, Math.floor(pixel / mapSize)];
      if (x % pixelStep !== 1 || y % pixelStep !== 1 || from.view.outline[pixel]! <= 0.004) continue;
      const [u, v] = [centerOf(x, mapSize), centerOf(y, mapSize)];
      const z = reliefDepth(from.camera, from.view.front[pixel]!, u, v) + bendAt(bends[i]!, u, v);
      pointOnRay(from.camera, u, v, z, here);
      pointOnRay(from.camera, u, v, z + probe, ahead);
      const trust = from.view.trust[pixel]!;
      for (const [j, to] of placed.entries()) {
        if (i === j) continue;
        const found = compare(here, ahead, to, bends[j]!, trust);
        if (!found) continue;
        const own = nodesAt(i, u, v, found.own);
        const other = found.other === 0 ? [] : nodesAt(j, found.u, found.v, found.other);
        const current = found.own * bendAt(bends[i]!, u, v) + found.other * bendAt(bends[j]!, found.u, found.v);
        const all = [...own, ...other];
        equations.push({
          nodes: Int32Array.from(all, ({ node }) => node),
          factors: Float64Array.from(all, ({ factor }) => factor),
          target: current - found.residual,
        });
      }
    }
  }
  return equations;
}

interface Disagreement {
  readonly residual: number;
  /** By how much the residual changes with the bends of the first and of the second view. */
  readonly own: number;
  readonly other: number;
  readonly u: number;
  readonly v: number;
}

const [seenHere, seenAhead] = [new Float64Array(4), new Float64Array(4)];

function compare(
  here: Float64Array,
  ahead: Float64Array,
  { view, camera }: PlacedView,
  bend: Float32Array,
  trust: number,
): Disagreement | undefined {
  seePoint(camera, here[0]!, here[1]!, here[2]!, seenHere);
  seePoint(camera, ahead[0]!, ahead[1]!, ahead[2]!, seenAhead);
  const [u, v] = [seenHere[0]!, seenHere[1]!];
  const outside = -outlineAt(view, seenHere) * seenHere[3]!;
  if (outside > 0) {
    const slope = (-outlineAt(view, seenAhead) * seenAhead[3]! - outside) / probe;
    const weight = (0.15 + 0.85 * trust) / outlineSpread;
    return Math.abs(slope) < 0.2 || outside > maxDifference
      ? undefined
      : { residual: weight * outside, own: weight * slope, other: 0, u, v };
  }
  sampleMap(view.trust, mapSize, u, v, sample);
  const otherTrust = sample.value;
  if (otherTrust < minTrust || trust < minTrust) return undefined;
  const distance = aheadAt(view, camera, seenHere, bend);
  if (Math.abs(distance) > maxDifference) return undefined;
  const slope = (aheadAt(view, camera, seenAhead, bend) - distance) / probe;
  // A point that moves away from the other camera as it moves toward its own is on the other side of the object.
  if (distance < 0 && slope < 0.15) return undefined;
  const weight = Math.sqrt(trust * otherTrust) / frontSpread / (1 + (distance / 0.05) ** 2);
  return { residual: weight * distance, own: weight * slope, other: -weight, u, v };
}

function outlineAt({ outline }: PreparedView, seen: Float64Array): number {
  sampleOutline(outline, mapSize, seen[0]!, seen[1]!, sample);
  return sample.value;
}

/** How far a point is before a view's bent front. */
function aheadAt({ front }: PreparedView, camera: ViewCamera, seen: Float64Array, bend: Float32Array): number {
  const [u, v] = [seen[0]!, seen[1]!];
  sampleMap(front, mapSize, u, v, sample);
  return seen[2]! - reliefDepth(camera, sample.value, u, v) - bendAt(bend, u, v);
}

/** The four nodes around a position, with their shares of a factor. */
function nodesAt(view: number, u: number, v: number, factor: number): { node: number; factor: number }[] {
  const last = bendSize - 1.001;
  const x = Math.min(Math.max(((u + 1) * bendSize - 1) / 2, 0), last);
  const y = Math.min(Math.max(((v + 1) * bendSize - 1) / 2, 0), last);
  const [left, top] = [Math.floor(x), Math.floor(y)];
  const [right, down] = [x - left, y - top];
  const first = (view * bendSize + top) * bendSize + left;
  return [
    { node: first, factor: factor * (1 - right) * (1 - down) },
    { node: first + 1, factor: factor * right * (1 - down) },
    { node: first + bendSize, factor: factor * (1 - right) * down },
    { node: first + bendSize + 1, factor: factor * right * down },
  ];
}

/** Solves the equations in the sense of least squares by conjugate gradients. */
function solve(equations: readonly Equation[], start: Float64Array): Float64Array<ArrayBuffer> {
  const solution = Float64Array.from(start);
  const force = new Float64Array(start.length);
  addTransposed(equations, (equation) => equation.target - along(equation, solution), force);
  const direction = force.slice();
  let squared = dot(force, force);
  for (let step = 0; step < solverSteps && squared > 1e-12; step++) {
    const product = new Float64Array(start.length);
    addTransposed(equations, (equation) => along(equation, direction), product);
    const length = squared / dot(direction, product);
    for (let k = 0; k < solution.length; k++) {
      solution[k]! += length * direction[k]!;
      force[k]! -= length * product[k]!;
    }
    const before = squared;
    squared = dot(force, force);
    for (let k = 0; k < solution.length; k++) direction[k] = force[k]! + (squared / before) * direction[k]!;
  }
  return solution;
}

function along({ nodes, factors }: Equation, values: Float64Array): number {
  let sum = 0;
  for (let n = 0; n < nodes.length; n++) sum += factors[n]! * values[nodes[n]!]!;
  return sum;
}

function addTransposed(equations: readonly Equation[], scaled: (equation: Equation) => number, sums: Float64Array) {
  for (const equation of equations) {
    const value = scaled(equation);
    const { nodes, factors } = equation;
    for (let n = 0; n < nodes.length; n++) sums[nodes[n]!]! += factors[n]! * value;
  }
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let k = 0; k < a.length; k++) sum += a[k]! * b[k]!;
  return sum;
}
