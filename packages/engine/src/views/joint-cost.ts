import { mapSize } from './map.js';
import { addEquations, type NormalEquations, normalEquations } from './normal-equations.js';
import { type CostSettings, costByChance, PairCost, type PosedRays, type ViewRays } from './pair-cost.js';
import { camerasOf, lensOf, PITCH, type Priors, parameterAt, perView, priorCost, ROLL, YAW } from './parameters.js';
import type { PreparedView } from './prepared-view.js';
import { multiply, transpose, type ViewCamera } from './view-camera.js';

/** The range of depths at which a ray of an outline may touch the object, and steps along it. */
const maxRimDepth = 0.7;
const rimSteps = 28;

/** How badly the cameras of several photos fit the photos and the priors. */
export class JointCost {
  readonly #views: readonly PreparedView[];
  readonly #priors: Priors;
  readonly #rays: readonly ViewRays[];
  readonly #colorChances: readonly (readonly number[])[];
  readonly #pairCost = new PairCost();
  readonly #worst = new Float64Array(rimSteps + 1);

  constructor(rays: readonly ViewRays[], priors: Priors) {
    this.#views = rays.map(({ view }) => view);
    this.#priors = priors;
    this.#rays = rays;
    this.#colorChances = this.#rays.map((a) => this.#rays.map((b) => costByChance(a.points, b.points)));
  }

  costAt(parameters: Float64Array, settings: CostSettings): number {
    return this.#evaluate(parameters, settings, undefined);
  }

  /** Returns the equations of the step that lowers the cost, and the cost. */
  equationsAt(parameters: Float64Array, settings: CostSettings): { cost: number; equations: NormalEquations } {
    const equations = normalEquations(parameters.length);
    const cost = this.#evaluate(parameters, settings, equations);
    return { cost, equations };
  }

  /** The mean distance by which fronts violate other views. */
  violationAt(parameters: Float64Array, settings: CostSettings): number {
    this.#pairCost.violation = 0;
    this.#pairCost.violationWeight = 0;
    this.#evaluate(parameters, settings, undefined);
    return this.#pairCost.violation / Math.max(this.#pairCost.violationWeight, 1e-9);
  }

  #evaluate(parameters: Float64Array, settings: CostSettings, equations: NormalEquations | undefined): number {
    const cameras = camerasOf(this.#views, parameters);
    const posed = cameras.map((camera, i): PosedRays => {
      const angles = [YAW, PITCH, ROLL].map((angle) => parameters[perView * i + angle]!);
      return { rays: this.#rays[i]!, camera, angles };
    });
    let cost = 0;
    for (const [i, from] of posed.entries()) {
      for (const [j, to] of posed.entries()) {
        if (i === j) continue;
        cost += this.#pairCost.evaluate(from, to, settings, {
          colorChance: this.#colorChances[i]![j]!,
          isPair: posed.length === 2,
          withSlopes: equations !== undefined,
        });
        if (equations) addEquations(equations, this.#pairCost.equations, positionsOf(i, j, lensOf(parameters)));
      }
    }
    return cost + this.#addPriors(parameters, equations);
  }

  #addPriors(parameters: Float64Array, equations: NormalEquations | undefined): number {
    const { mean, spread } = this.#priors;
    const { length } = parameters;
    let sum = 0;
    for (let k = 0; k < length; k++) {
      if (spread[k]! === 0) {
        if (equations) fix(equations, k);
        continue;
      }
      const deviations = (parameters[k]! - mean[k]!) / spread[k]!;
      const { cost, weight } = priorCost(parameterAt(k, length), deviations);
      sum += cost;
      if (!equations) continue;
      equations.matrix[k * length + k]! += weight / spread[k]! ** 2;
      equations.slope[k]! += (weight * deviations) / spread[k]!;
    }
    return sum;
  }

  /** Finds for each ray of an outline the depth at which the other outlines allow it most. */
  placeRims(parameters: Float64Array): void {
    const cameras = camerasOf(this.#views, parameters);
    for (const [i, camera] of cameras.entries()) {
      const { rim } = this.#rays[i]!;
      const others = cameras.flatMap((to, j) => (j === i ? [] : [{ to, outline: this.#views[j]!.outline }]));
      const lines = others.map(({ to, outline }) => ({
        outline,
        to,
        line: new Float64Array(6),
        turn: multiply(to.rotation, transpose(camera.rotation)),
      }));
      for (let k = 0; k < rim.count; k++) {
        this.#worst.fill(-1);
        for (const { outline, to, line, turn } of lines) {
          layLine(camera, to, turn, rim.u[k]!, rim.v[k]!, line);
          followLine(line, to, outline, this.#worst);
        }
        let best = 0;
        for (let step = 1; step <= rimSteps; step++) if (this.#worst[step]! < this.#worst[best]!) best = step;
        rim.depth[k] = depthOfStep(best);
      }
    }
  }
}

const depthOfStep = (step: number): number => -maxRimDepth + (2 * maxRimDepth * step) / rimSteps;

/** Writes where a ray is in another camera's frame: at depth 0, and by how much it moves per unit of depth. */
function layLine(from: ViewCamera, to: ViewCamera, turn: Float64Array, u: number, v: number, line: Float64Array): void {
  const size = from.distance * from.halfTangent;
  const x = u * size - from.x;
  const y = -v * size - from.y;
  const dx = -u * from.halfTangent;
  const dy = v * from.halfTangent;
  for (let row = 0; row < 3; row++) {
    line[row] = turn[3 * row]! * x + turn[3 * row + 1]! * y;
    line[3 + row] = turn[3 * row]! * dx + turn[3 * row + 1]! * dy + turn[3 * row + 2]!;
  }
  line[0]! += to.x;
  line[1]! += to.y;
}

/** Raises `worst` to the distances outside an outline at the steps along a line. */
function followLine(line: Float64Array, to: ViewCamera, outline: Float32Array, worst: Float64Array): void {
  const size = to.distance * to.halfTangent;
  for (let step = 0; step <= rimSteps; step++) {
    const z = depthOfStep(step);
    const scale = size - to.halfTangent * (line[2]! + line[5]! * z);
    const u = (line[0]! + line[3]! * z) / scale;
    const v = -(line[1]! + line[4]! * z) / scale;
    const column = Math.floor(((u + 1) * mapSize) / 2);
    const row = Math.floor(((v + 1) * mapSize) / 2);
    let outside: number;
    if (column >= 0 && row >= 0 && column < mapSize && row < mapSize && scale > 1e-3) {
      outside = -outline[row * mapSize + column]! * scale;
    } else {
      outside = 1 + Math.abs(u) + Math.abs(v);
    }
    if (outside > worst[step]!) worst[step] = outside;
  }
}

/** The positions of a pair's numbers among all. */
function positionsOf(i: number, j: number, lens: number): Int32Array {
  const of = (view: number) => Array.from({ length: perView }, (_, k) => perView * view + k);
  return Int32Array.from([...of(i), ...of(j), lens]);
}

/** Keeps a number as it is. */
function fix({ count, matrix, slope }: NormalEquations, k: number): void {
  for (let other = 0; other < count; other++) {
    matrix[k * count + other] = 0;
    matrix[other * count + k] = 0;
  }
  matrix[k * count + k] = 1;
  slope[k] = 0;
}
