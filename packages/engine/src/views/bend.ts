import { centerOf, mapSize, newSample, sampleMap, sampleOutline } from './map.js';
import type { PreparedView } from './prepared-view.js';
import { pointOnRay, reliefDepth, seePoint, type ViewCamera } from './view-camera.js';

// Networks predict the front of each photo on its own, and are off by 1 to 6 % of an object's size. Views that disagree
// are bent until they agree: each gets a smooth map of how much nearer its front is. A front moves along the rays of its
// own photo, which therefore still shows the same. Lengths are in units of space, in which an object is about 1 long.

/** Nodes a side of a view's map of bends. */
const bendSize = 32;

/** The pixels between rays that are compared with other views, and how far inside the outline they must be. */
const pixelStep = 4;
const minInset = 0.004;

/** Standard deviation of the difference between two fronts at the same place. */
const frontSpread = 0.012;
/** Standard deviation of an outline, and of a front that carves away what an outline shows. */
const outlineSpread = 0.006;
const carvedSpread = 0.0015;
/** Of the bend itself, and of its bending between neighboring nodes. */
const bendSpread = 0.12;
const stiffness = 0.013;
/** Fronts that differ by more than this at a place show different surfaces. */
const maxDifference = 0.12;
const minTrust = 0.05;

/** The depths that are searched for the least forbidden point of a ray, away from the camera. */
const [nearest, farthest, steps] = [0.75, -0.75, 40];
/** A front carves if it forbids a depth by more than `tolerance`, and is moved if by less than `maxMove`. */
const [tolerance, maxMove] = [0.004, 0.5];
/** An outline forbids a depth this many times as much as a front. */
const outlineWeight = 3;
/** A point farther outside an outline is a contradiction between cameras or outlines, which no front can explain. */
const maxOutside = 0.01;

/** The rounds, and the first one that moves fronts that carve. Before it, fronts still disagree too much. */
const [rounds, carvingRound] = [4, 2];
const solverSteps = 30;

/** A step along a ray for slopes. */
const probe = 0.01;

/** A view at its camera in the shared space. */
export interface PlacedView {
  readonly view: PreparedView;
  readonly camera: ViewCamera;
}

/** A view with a map of the units of space by which its front is nearer than predicted. */
export interface BentView extends PlacedView {
  readonly bend: Float32Array;
}

const sample = newSample();

/** The depth p.z of a view's bent front at a position of the frame. @param front as the network predicts it */
export const bentDepth = (view: BentView, front: number, u: number, v: number): number =>
  reliefDepth(view.camera, front, u, v) + bendAt(view, u, v);

function bendAt({ bend }: BentView, u: number, v: number): number {
  sampleMap(bend, bendSize, u, v, sample);
  return sample.value;
}

export function bendViews(placed: readonly PlacedView[]): BentView[] {
  const count = bendSize * bendSize;
  let bends = new Float64Array(count * placed.length);
  const bent = () =>
    placed.map((view, i) => ({ ...view, bend: Float32Array.from(bends.subarray(i * count, (i + 1) * count)) }));
  for (let round = 0; round < rounds; round++) {
    const equations = new Equations();
    addSmoothness(equations, placed.length);
    addDisagreements(equations, bent(), round >= carvingRound);
    bends = equations.solve(bends);
  }
  return bent();
}

/** A system of equations, each a weighted sum of bends and its target, for a solution by least squares. */
class Equations {
  readonly #nodes: number[] = [];
  readonly #factors: number[] = [];
  /** Where each equation's nodes end. */
  readonly #ends: number[] = [];
  readonly #targets: number[] = [];

  /** Adds a node to the next equation. Node 0 of a view is its number times bendSize². */
  addNode(node: number, factor: number): void {
    this.#nodes.push(node);
    this.#factors.push(factor);
  }

  /** Adds a view's bend at a position: the four nodes around it. */
  addBend(view: number, u: number, v: number, factor: number): void {
    const last = bendSize - 1.001;
    const x = Math.min(Math.max(((u + 1) * bendSize - 1) / 2, 0), last);
    const y = Math.min(Math.max(((v + 1) * bendSize - 1) / 2, 0), last);
    const [left, top] = [Math.floor(x), Math.floor(y)];
    const [right, down] = [x - left, y - top];
    const first = (view * bendSize + top) * bendSize + left;
    this.addNode(first, factor * (1 - right) * (1 - down));
    this.addNode(first + 1, factor * right * (1 - down));
    this.addNode(first + bendSize, factor * (1 - right) * down);
    this.addNode(first + bendSize + 1, factor * right * down);
  }

  end(target: number): void {
    this.#ends.push(this.#nodes.length);
    this.#targets.push(target);
  }

  /** Solves by conjugate gradients. */
  solve(start: Float64Array): Float64Array<ArrayBuffer> {
    const solution = Float64Array.from(start);
    const force = this.#transposed((equation, sum) => this.#targets[equation]! - sum, solution);
    const direction = force.slice();
    let squared = dot(force, force);
    for (let step = 0; step < solverSteps && squared > 1e-12; step++) {
      const product = this.#transposed((_, sum) => sum, direction);
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

  /** Applies `of` to each equation's sum over `values`, and multiplies the results by the transposed matrix. */
  #transposed(of: (equation: number, sum: number) => number, values: Float64Array): Float64Array {
    const result = new Float64Array(values.length);
    for (let equation = 0, from = 0; equation < this.#ends.length; equation++) {
      const end = this.#ends[equation]!;
      let sum = 0;
      for (let n = from; n < end; n++) sum += this.#factors[n]! * values[this.#nodes[n]!]!;
      const value = of(equation, sum);
      for (; from < end; from++) result[this.#nodes[from]!]! += this.#factors[from]! * value;
    }
    return result;
  }
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let k = 0; k < a.length; k++) sum += a[k]! * b[k]!;
  return sum;
}

/** Bends are small, and nearly linear between neighbors. */
function addSmoothness(equations: Equations, views: number): void {
  for (let node = 0; node < views * bendSize * bendSize; node++) {
    equations.addNode(node, 1 / bendSpread);
    equations.end(0);
    const [x, y] = [node % bendSize, Math.floor(node / bendSize) % bendSize];
    for (const [at, stride] of [
      [x, 1],
      [y, bendSize],
    ] as const) {
      if (at === 0 || at === bendSize - 1) continue;
      equations.addNode(node - stride, 1 / stiffness);
      equations.addNode(node, -2 / stiffness);
      equations.addNode(node + stride, 1 / stiffness);
      equations.end(0);
    }
  }
}

/** Adds an equation where a front is outside another outline, or differs from another front of the same surface. */
function addDisagreements(equations: Equations, views: readonly BentView[], mayCarve: boolean): void {
  const [here, ahead] = [new Float64Array(3), new Float64Array(3)];
  const look = lookerAt(views);
  for (const [i, from] of views.entries()) {
    for (let pixel = 0; pixel < mapSize * mapSize; pixel++) {
      const [x, y] = [pixel % mapSize, Math.floor(pixel / mapSize)];
      if (x % pixelStep !== 1 || y % pixelStep !== 1 || from.view.outline[pixel]! <= minInset) continue;
      const [u, v] = [centerOf(x, mapSize), centerOf(y, mapSize)];
      const z = bentDepth(from, from.view.front[pixel]!, u, v);
      pointOnRay(from.camera, u, v, z, here);
      pointOnRay(from.camera, u, v, z + probe, ahead);
      const trust = from.view.trust[pixel]!;
      for (const [j, to] of views.entries()) {
        const found = i === j ? undefined : compare(here, ahead, to, trust);
        if (!found) continue;
        equations.addBend(i, u, v, found.own);
        if (found.other !== 0) equations.addBend(j, found.u, found.v, found.other);
        const current = found.own * bendAt(from, u, v) + found.other * bendAt(to, found.u, found.v);
        equations.end(current - found.residual);
      }
      if (mayCarve && look(here).worst > tolerance) addCarved(equations, views, look, from.camera, u, v);
    }
  }
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

function compare(here: Float64Array, ahead: Float64Array, to: BentView, trust: number): Disagreement | undefined {
  const { view, camera } = to;
  seePoint(camera, here[0]!, here[1]!, here[2]!, seenHere);
  seePoint(camera, ahead[0]!, ahead[1]!, ahead[2]!, seenAhead);
  const [u, v] = [seenHere[0]!, seenHere[1]!];
  const outside = outsideOf(view, seenHere);
  if (outside > 0) {
    const slope = (outsideOf(view, seenAhead) - outside) / probe;
    const weight = (0.15 + 0.85 * trust) / outlineSpread;
    return Math.abs(slope) < 0.2 || outside > maxDifference
      ? undefined
      : { residual: weight * outside, own: weight * slope, other: 0, u, v };
  }
  sampleMap(view.trust, mapSize, u, v, sample);
  const otherTrust = sample.value;
  if (otherTrust < minTrust || trust < minTrust) return undefined;
  const distance = aheadOf(to, seenHere);
  if (Math.abs(distance) > maxDifference) return undefined;
  const slope = (aheadOf(to, seenAhead) - distance) / probe;
  // A point that moves away from the other camera as it moves toward its own is on the other side of the object.
  if (distance < 0 && slope < 0.15) return undefined;
  const weight = Math.sqrt(trust * otherTrust) / frontSpread / (1 + (distance / 0.05) ** 2);
  return { residual: weight * distance, own: weight * slope, other: -weight, u, v };
}

type Looker = ReturnType<typeof lookerAt>;

/**
 * Adds an equation for each front that forbids the least forbidden point on a ray. Every ray inside an outline hits the
 * object, so a front that is too far back there carves away what the outline shows: ears, tails, legs.
 */
function addCarved(
  equations: Equations,
  views: readonly BentView[],
  look: Looker,
  camera: ViewCamera,
  u: number,
  v: number,
): void {
  const point = new Float64Array(3);
  let [best, depth] = [Infinity, 0];
  for (let step = 0; step <= steps; step++) {
    const z = nearest + ((farthest - nearest) * step) / steps;
    pointOnRay(camera, u, v, z, point);
    const { worst } = look(point);
    if (worst <= tolerance) return;
    if (worst < best) [best, depth] = [worst, z];
  }
  pointOnRay(camera, u, v, depth, point);
  const { outside, ahead, us, vs } = look(point);
  if (outside > maxOutside) return;
  for (const [i, view] of views.entries()) {
    if (ahead[i]! <= tolerance || ahead[i]! >= maxMove) continue;
    equations.addBend(i, us[i]!, vs[i]!, 1 / carvedSpread);
    equations.end((bendAt(view, us[i]!, vs[i]!) + ahead[i]! + tolerance) / carvedSpread);
  }
}

/** Returns a function that says how far a point is outside the outlines and before the fronts, in a reused object. */
function lookerAt(views: readonly BentView[]) {
  const ahead = new Float64Array(views.length);
  const us = new Float64Array(views.length);
  const vs = new Float64Array(views.length);
  const found = { outside: 0, worst: 0, ahead, us, vs };
  return (point: Float64Array) => {
    found.outside = 0;
    found.worst = 0;
    for (let i = 0; i < views.length; i++) {
      const view = views[i]!;
      seePoint(view.camera, point[0]!, point[1]!, point[2]!, seenHere);
      us[i] = seenHere[0]!;
      vs[i] = seenHere[1]!;
      found.outside = Math.max(found.outside, outsideOf(view.view, seenHere));
      ahead[i] = Math.abs(us[i]!) < 1 && Math.abs(vs[i]!) < 1 ? aheadOf(view, seenHere) : 0;
      found.worst = Math.max(found.worst, ahead[i]!);
    }
    found.worst = Math.max(found.worst, outlineWeight * found.outside);
    return found;
  };
}

function outsideOf({ outline }: PreparedView, seen: Float64Array): number {
  sampleOutline(outline, mapSize, seen[0]!, seen[1]!, sample);
  return -sample.value * seen[3]!;
}

/** How far a point is before a view's bent front. */
function aheadOf(view: BentView, seen: Float64Array): number {
  const [u, v] = [seen[0]!, seen[1]!];
  sampleMap(view.view.front, mapSize, u, v, sample);
  return seen[2]! - bentDepth(view, sample.value, u, v);
}
