import type { PreparedView } from './prepared-view.js';
import { type Registration, register } from './register.js';

// Finds photos that do not show the same object: without such a photo, the others fit far better. Of 24 sets of four
// photos with one of another object, the limit finds 19. In 3 of 24 sets without such a photo, it leaves out photos. If
// the front is also given as the back, it finds 10 of 24.

/** A photo fits if the mean cost per ordered pair of views is at most this, plus a multiple of that without it. */
const [fittingCost, costOfOthers] = [4, 1.5];
/** Above this mean cost, all photos contradict each other. Those of one object have at most 9 on both sets. */
const maxCost = 12;
/** The mean cost of two photos that fit, which counts for the front alone. */
const usualCost = 1.3;

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
  let found = registered(candidates, signal);
  while (costPerPair(found) > fittingCost) {
    const tried = found.views;
    const without = tried.slice(1).map((left) =>
      registered(
        tried.filter((view) => view !== left),
        signal,
      ),
    );
    const best = without.reduce((a, b) => (costPerPair(b) < costPerPair(a) ? b : a));
    const limit = Math.min(fittingCost + costOfOthers * Math.max(costPerPair(best), 0), maxCost);
    if (costPerPair(found) <= limit) break;
    found = best;
  }
  return found;
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

const costPerPair = ({ registration }: FittingViews<unknown>): number => registration?.cost ?? usualCost;

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
