import { clamp } from '../base/interpolation.js';
import type { PreparedView } from './prepared-view.js';
import { type Registration, register } from './register.js';

// Finds photos that do not show the same object: without such a photo, the others fit far better. Of 36 sets of four
// photos with one of another object, this finds 35. In two of 36 sets without such a photo, it leaves out photos. If
// there are only two photos, it accepts 8 of 36 of other objects.

/** A photo fits if the mean cost per pair of views is at most this, plus a multiple of that without it. */
const [fittingCost, costOfOthers] = [5, 1.5];
/** Above this mean cost, all photos contradict each other. */
const maxCost = 12;
/** The cost of the front alone, which is about the mean cost of two photos that fit, without that of their colors. */
const usualCost = 1.3;

/**
 * Photos of one object mostly have the same colors. So the more of their colors two photos share, the worse their shapes
 * may fit: this is the cost per share of 1. Shares outside the limits are due to the light, or to plain objects.
 */
const costOfColors = 12;
const usuallyShared = 0.45;
const [minShared, maxShared] = [0.15, 0.65];

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

function costPerPair({ views, registration }: FittingViews<LabeledView>): number {
  if (!registration) return usualCost;
  const shared = views.flatMap(({ view: a }, i) =>
    views.slice(i + 1).map(({ view: b }) => sharedColors(a.palette, b.palette)),
  );
  const mean = shared.reduce((sum, share) => sum + share, 0) / shared.length;
  return registration.cost + costOfColors * (usuallyShared - mean);
}

/**
 * The share of colors that two photos have in common, within the limits. As usual if an object is too thin for colors.
 *
 * @see Swain and Ballard, "Color Indexing", 1991: the intersection of histograms
 */
function sharedColors(a: Float32Array, b: Float32Array): number {
  if (![a, b].every((palette) => palette.some((share) => share > 0))) return usuallyShared;
  const shared = a.reduce((sum, share, color) => sum + Math.min(share, b[color]!), 0);
  return clamp(shared, minShared, maxShared);
}

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
