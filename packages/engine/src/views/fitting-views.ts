import type { PreparedView } from './prepared-view.js';
import { type Registration, register } from './register.js';

// Notices photos that do not show the same object, by the cost of their registration. Of 12 sets of four photos with one
// of another object, the limit leaves out all 12, and one of 24 right ones; of second fronts given as the back, half.

/** The maximum cost for each ordered pair of views, with two views and with more. */
const maxCostPerPair = { pair: 4, more: 5.5 };

/** Two photos are the same if their outlines and colors differ by less, as means over the frame in 0..1. */
const sameOutline = 0.01;
const sameColors = 0.02;

export interface FittingViews<V> {
  /** Those that fit, the front first. */
  readonly views: readonly V[];
  /** Undefined if only the front is left. */
  readonly registration: Registration | undefined;
}

interface LabeledView {
  readonly view: PreparedView;
  /** By the label, in radians; 0 for the front. */
  readonly yaw: number;
}

/**
 * Registers views, and leaves out those that do not fit, one at a time. The front stays.
 *
 * @throws the signal's reason, once aborted
 */
export function fittingViews<V extends LabeledView>(views: readonly V[], signal?: AbortSignal): FittingViews<V> {
  const candidates = views.filter((one, i) => !views.slice(0, i).some((other) => showSame(one.view, other.view)));
  let best = registered(candidates, signal);
  while (best.registration && !fits(best)) {
    const { views: tried } = best;
    const others = tried.slice(1).map((left) =>
      registered(
        tried.filter((view) => view !== left),
        signal,
      ),
    );
    best = others.reduce((a, b) => (costPerPair(b) < costPerPair(a) ? b : a));
  }
  return best;
}

function registered<V extends LabeledView>(views: readonly V[], signal: AbortSignal | undefined): FittingViews<V> {
  if (views.length < 2) return { views, registration: undefined };
  const registration = register(
    views.map(({ view }) => view),
    views.map(({ yaw }) => yaw),
    signal,
  );
  return { views, registration };
}

const costPerPair = ({ views, registration }: FittingViews<unknown>): number =>
  registration ? registration.cost / (views.length * (views.length - 1)) : 0;

const fits = (found: FittingViews<unknown>): boolean =>
  costPerPair(found) <= (found.views.length === 2 ? maxCostPerPair.pair : maxCostPerPair.more);

/** Whether two photos are the same one, which adds nothing. */
function showSame(a: PreparedView, b: PreparedView): boolean {
  return (
    meanDifference(a.prediction.coarseMatte, b.prediction.coarseMatte) < sameOutline &&
    meanDifference(a.colors, b.colors) < sameColors
  );
}

function meanDifference(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += Math.abs(a[i]! - b[i]!);
  return sum / a.length;
}
