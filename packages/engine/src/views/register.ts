import { JointCost } from './joint-cost.js';
import { solveDamped } from './normal-equations.js';
import type { CostSettings, ViewRays } from './pair-cost.js';
import { camerasOf, type Priors, parameterAt, perView, priorsOf, startAt, YAW } from './parameters.js';
import type { PreparedView } from './prepared-view.js';
import { reliefPoints, rimRays } from './rays.js';
import type { ViewCamera } from './view-camera.js';

// Finds the cameras of several photos of one object from the sides that their labels name. The cost has many valleys, so
// the search starts at several turns of the other photos, with few points and wide limits, and refines the best.
// Outlines count most; see pair-cost.ts.

const degree = Math.PI / 180;

/** Turns of all other photos relative to the front, at which the search starts. */
const startTurns = [0, -12, 12].map((degrees) => degrees * degree);

/** Points in each relief and rays in each outline. */
const rough = { points: 140, rays: 48 };
const fine = { points: 300, rays: 140 };

/** Starts that are refined. */
const refinedStarts = 2;

/** Starts whose costs differ by less ended in the same valley. */
const sameValley = 0.5;

/** Standard deviation of fronts, in units of space, before it is measured; then a multiple of the mean violation. */
const firstFrontSpread = 0.025;
const spreadOfViolation = 8;
const [minFrontSpread, maxFrontSpread] = [0.008, 0.03];

/** One view, or all but the front, may be in a wrong valley, and is turned by this to find a better one. */
const valleyTurn = 13 * degree;
/** A turned view is kept if it lowers the cost by this. */
const minGain = 0.3;

/** Left and right are exchanged if that lowers the cost for each ordered pair by this much. */
const minExchangedGain = 4;

/** A descent stops where a step lowers the cost by a smaller share. Refining longer only fits the networks' errors. */
const [minProgress, minProgressOfFine] = [0.001, 0.01];

export interface Registration {
  readonly cameras: readonly ViewCamera[];
  /** For each ordered pair: grows with the distances by which views disagree; see fitting-views.ts. */
  readonly cost: number;
}

interface DescentSettings extends Omit<CostSettings, 'cutoff'> {
  readonly minProgress: number;
}

interface Found {
  readonly parameters: Float64Array;
  readonly cost: number;
}

/**
 * @param views the first is the front
 * @param yaws of the views by their labels, in radians: 0 for the front
 * @throws the signal's reason, once aborted
 */
export function register(views: readonly PreparedView[], yaws: readonly number[], signal?: AbortSignal): Registration {
  const roughRays = views.map((view) => raysOf(view, rough));
  const asLabeled = search(roughRays, yaws);
  signal?.throwIfAborted();
  const best = refine(views, asLabeled, signal);
  // Half of all people confuse left and right. For symmetric objects, both ways fit, and the labels decide.
  const exchanged = yaws.map((yaw) => (Math.abs(yaw) > 3 ? yaw : -yaw));
  if (exchanged.every((yaw, i) => yaw === yaws[i])) return best;
  const others = search(roughRays, exchanged);
  signal?.throwIfAborted();
  if (others.first[0]!.cost > asLabeled.first[0]!.cost) return best;
  const other = refine(views, others, signal);
  return best.cost - other.cost > minExchangedGain ? other : best;
}

const raysOf = (view: PreparedView, counts: typeof rough): ViewRays => ({
  view,
  points: reliefPoints(view, counts.points),
  rim: rimRays(view, counts.rays),
});

interface Search {
  readonly priors: Priors;
  readonly roughCost: JointCost;
  /** By cost, the best first. */
  readonly first: readonly Found[];
}

function search(rays: readonly ViewRays[], yaws: readonly number[]): Search {
  const views = rays.map(({ view }) => view);
  const priors = priorsOf(views, yaws);
  const roughCost = new JointCost(rays, priors);
  const settings = { frontSpread: firstFrontSpread, minProgress };
  const start = startAt(views, priors);
  const starts = startTurns.map((turn) => turned(start, 0, turn));
  if (views.length > 2) starts.push(startOfPairs(rays, yaws, start));
  const first = starts
    .map((parameters) => descend(roughCost, parameters, settings, [0.25, 0.12], 6))
    .sort((a, b) => a.cost - b.cost);
  return { priors, roughCost, first };
}

/** Places each other view where it alone fits the front best. */
function startOfPairs([front, ...others]: readonly ViewRays[], yaws: readonly number[], start: Float64Array) {
  const joint = start.slice();
  for (const [i, other] of others.entries()) {
    const { parameters } = search([front!, other], [0, yaws[i + 1]!]).first[0]!;
    joint.set(parameters.subarray(perView, 2 * perView), perView * (i + 1));
  }
  return joint;
}

/** Turns a view. The front's yaw is fixed, so all other views are turned instead. */
const turned = (parameters: Float64Array, view: number, turn: number): Float64Array =>
  parameters.map((value, k) => {
    const isTurned = view === 0 ? k >= perView : Math.floor(k / perView) === view;
    return isTurned && parameterAt(k, parameters.length) === YAW ? value + turn : value;
  });

function refine(
  views: readonly PreparedView[],
  { priors, roughCost, first }: Search,
  signal?: AbortSignal,
): Registration {
  const fineCost = new JointCost(
    views.map((view) => raysOf(view, fine)),
    priors,
  );
  const settings = { frontSpread: firstFrontSpread, minProgress: minProgressOfFine };
  let best: Found | undefined;
  for (const { parameters } of distinct(first).slice(0, refinedStarts)) {
    signal?.throwIfAborted();
    const found = descend(fineCost, parameters, settings, [0.12, 0.06], 10);
    if (!best || found.cost < best.cost) best = found;
  }
  const violation = fineCost.violationAt(best!.parameters, { ...settings, cutoff: 0.06 });
  const frontSpread = Math.min(Math.max(spreadOfViolation * violation, minFrontSpread), maxFrontSpread);
  const measured = { ...settings, frontSpread };
  best = descend(fineCost, best!.parameters, measured, [0.1, 0.06], 10);
  signal?.throwIfAborted();
  const other = turnViews(roughCost, views.length, best.parameters, measured);
  if (other) {
    const refined = descend(fineCost, other, measured, [0.1, 0.06], 10);
    if (refined.cost < best.cost) best = refined;
  }
  return {
    cameras: camerasOf(views, best.parameters),
    cost: best.cost / (views.length * (views.length - 1)),
  };
}

/** Leaves out what ended in the valley of a better one. */
const distinct = (found: readonly Found[]): readonly Found[] =>
  found.filter(({ cost }, i) => i === 0 || cost - found[i - 1]!.cost > sameValley);

/** Turns one view after the other, and returns the best numbers found, unless all are worse. */
function turnViews(
  cost: JointCost,
  count: number,
  parameters: Float64Array,
  settings: DescentSettings,
): Float64Array | undefined {
  const start = descend(cost, parameters, settings, [0.1], 4);
  let best = start;
  for (let view = 0; view < count; view++) {
    for (const turn of [-valleyTurn, valleyTurn]) {
      const found = descend(cost, turned(best.parameters, view, turn), settings, [0.1], 6);
      if (found.cost < best.cost - minGain) best = found;
    }
  }
  return best === start ? undefined : best.parameters;
}

/**
 * Lowers the cost with ever narrower limits.
 *
 * @see Marquardt, "An Algorithm for Least-Squares Estimation of Nonlinear Parameters", 1963
 */
function descend(
  cost: JointCost,
  start: Float64Array,
  settings: DescentSettings,
  cutoffs: readonly number[],
  iterations: number,
): Found {
  let parameters = start;
  let value = Infinity;
  let damping = 1e-2;
  for (const cutoff of cutoffs) {
    const limits = { ...settings, cutoff };
    for (let iteration = 0; iteration < iterations; iteration++) {
      cost.placeRims(parameters);
      const { cost: before, equations } = cost.equationsAt(parameters, limits);
      value = before;
      let progress = 0;
      for (let attempt = 0; attempt < 4; attempt++) {
        const step = solveDamped(equations, damping);
        const next = parameters.map((number, k) => number + step[k]!);
        const after = cost.costAt(next, limits);
        if (after < before) {
          progress = before - after;
          [parameters, value] = [next, after];
          damping = Math.max(damping / 4, 1e-5);
          break;
        }
        damping *= 6;
      }
      if (progress <= settings.minProgress * before) break;
    }
  }
  return { parameters, cost: value };
}
