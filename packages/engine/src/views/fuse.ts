import { type Box, boxAround } from '../base/box.js';
import { clamp, sampleSquare, smoothMin } from '../base/interpolation.js';
import type { DensityField } from '../field/density-field.js';
import { sampleFront } from '../field/front-depth.js';
import { type CorrectedView, correctionAt } from './give-way.js';
import { mapSize, newSample, sampleMap, sampleOutline } from './map.js';
import { reliefDepth, seePoint } from './view-camera.js';

// Fuses what several photos show into one density: empty outside any outline, at the weighted mean of the fronts where
// they are near, and where no front is near, as the networks guess, the nearest front's guess first. The space is that
// of the front photo's camera, and lengths are in its units, in which an object is about 1 long. The constants are from
// the report on 24 rendered objects.

/** Logits per unit of space, as in the field of one photo: at a front, and at an outline. */
const frontSlope = 80;
const outlineSlope = 106;
/** Width in logits of the rounded seams. */
const seamRounding = 1.2;
/** A front counts fully before it, and not at all from this far behind it on. */
const band = 0.05;
/** The front photo's relief counts this many times, so that the front of the model is that of one photo. */
const frontFavor = 4;
/** A front without trust counts this much. */
const minFrontWeight = 0.1;
/** Softens the weight of a guess by its distance behind the front. */
const guessReach = 0.03;
/** A view that gives way by this much has half its weight, in units of space. */
const halfWeightLeeway = 0.02;
/** Steps behind a front that are occupied in any case. */
const minSteps = 2.25;

/** A view, and how far its outline is moved outward, for errors of the cameras. */
export interface FusedView extends CorrectedView {
  readonly slack: number;
}

/** The density at a point; inside is above 0. */
export type FusedDensity = (x: number, y: number, z: number) => number;

/** @param leeway by which the other views give way to the front; see leeway.ts */
export function fusedDensity(views: readonly FusedView[], leeway: Float32Array): FusedDensity {
  const seen = new Float64Array(4);
  const sample = newSample();
  return (x, y, z) => {
    let inside = 3;
    let [free, share] = [0, frontFavor];
    let [fronts, frontWeights, guesses, guessWeights] = [0, 0, 0, 0];
    for (let i = 0; i < views.length; i++) {
      const { view, camera, correction, slack } = views[i]!;
      seePoint(camera, x, y, z, seen);
      const scale = seen[3]!;
      if (scale < 1e-3) return -3;
      const [u, v] = [seen[0]!, seen[1]!];
      sampleOutline(view.wideOutline, mapSize, u, v, sample);
      const outline = clamp((sample.value * scale + slack + free) * outlineSlope, -3, 3);
      if (outline <= -3) return -3;
      inside = smoothMin(inside, outline, seamRounding);
      const front = reliefDepth(camera, sampleFront(view.front, mapSize, u, v), u, v) + correctionAt(correction, u, v);
      const behind = front - seen[2]! + free;
      sampleMap(view.trust, mapSize, u, v, sample);
      const trust = (minFrontWeight + (1 - minFrontWeight) * sample.value) * share;
      const weight = trust * (behind <= 0 ? 1 : Math.max(0, 1 - behind / band));
      fronts += weight * Math.max(behind, -band);
      frontWeights += weight;
      const guessWeight = Math.min(share, 1) / (guessReach + Math.max(behind, 0)) ** 2;
      guesses += guessWeight * guessAt(view, u, v, behind / camera.reliefScale);
      guessWeights += guessWeight;
      if (i > 0) continue;
      // A sheet at the front is enough: what is far behind it is as the other views show it.
      free = correctionAt(leeway, u, v) * clamp(2 - behind / band, 0, 1);
      share = 1 / (1 + (free / halfWeightLeeway) ** 2);
    }
    if (frontWeights > 1e-3) {
      inside = smoothMin(inside, clamp((fronts / frontWeights) * frontSlope, -6, 6), seamRounding);
    }
    return clamp(smoothMin(inside, guesses / guessWeights, seamRounding), -3, 6);
  };
}

/** The logit of the network's occupancy at a depth behind its front, in its units. */
function guessAt({ prediction }: FusedView['view'], u: number, v: number, behind: number): number {
  const { occupancy, size, manifest } = prediction;
  const { steps, halfWidth, halfDepth } = manifest.decoder;
  const step = clamp((behind * steps) / (2 * halfWidth * halfDepth), 0, steps - 1);
  const nearer = Math.min(Math.floor(step), steps - 2);
  const near = sampleSquare(occupancy, size, u, v, nearer * size * size);
  const far = sampleSquare(occupancy, size, u, v, (nearer + 1) * size * size);
  const logit = clamp(near + (far - near) * (step - nearer), -6, 6);
  return step < minSteps ? Math.max(logit, seamRounding) : logit;
}

/** Cells a side of the grid in which the bounds are found, and half its side. */
const boundCells = 48;
const reach = 1.1;

/** The box around everything that all outlines and depths allow. */
export function fusedBounds(views: readonly FusedView[], leeway: Float32Array): Box {
  const cell = (2 * reach) / boundCells;
  const seen = new Float64Array(4);
  const sample = newSample();
  const allowed: number[] = [];
  const isAllowed = (point: readonly number[]) => {
    let free = 0;
    return views.every(({ view, camera, slack }, i) => {
      seePoint(camera, point[0]!, point[1]!, point[2]!, seen);
      if (seen[3]! < 1e-3) return false;
      sampleOutline(view.wideOutline, mapSize, seen[0]!, seen[1]!, sample);
      const outside = -sample.value * seen[3]! - slack;
      const depth = (seen[2]! - camera.reliefOffset) / camera.reliefScale;
      if (outside > cell + free || depth > 0.95 || depth < -1.3) return false;
      if (i === 0) free = correctionAt(leeway, seen[0]!, seen[1]!);
      return true;
    });
  };
  for (let index = 0; index < boundCells ** 3; index++) {
    const cells = [1, boundCells, boundCells ** 2].map((step) => Math.floor(index / step) % boundCells);
    const point = cells.map((n) => -reach + (n + 0.5) * cell);
    if (isAllowed(point)) allowed.push(...point);
  }
  return boxAround(Float32Array.from(allowed.length > 0 ? allowed : [0, 0, 0]), allowed.length > 0 ? cell : 0.6);
}

/** Makes the field of a density in the front photo's camera. */
export function fusedField(views: readonly FusedView[], leeway: Float32Array, elevationRadians: number): DensityField {
  const { camera, view } = views[0]!;
  const density = fusedDensity(views, leeway);
  const { backColor, size } = view.prediction;
  return {
    threshold: 0,
    camera: { distance: camera.distance, halfTangent: camera.halfTangent },
    elevation: { radians: elevationRadians, spreadRadians: 0 },
    projects: false,
    bumpyBehind: true,
    bounds: fusedBounds(views, leeway),
    async evaluate(points, values) {
      for (let i = 0, p = 0; i < values.length; i++, p += 3) {
        values[i] = density(points[p]!, points[p + 1]!, points[p + 2]!);
      }
    },
    ...(backColor && {
      colorsRepeatFront: true,
      async evaluateColors(points: Float32Array, colors: Float32Array) {
        const seen = new Float64Array(4);
        for (let p = 0; p < points.length; p += 3) {
          seePoint(camera, points[p]!, points[p + 1]!, points[p + 2]!, seen);
          for (let c = 0; c < 3; c++) {
            colors[p + c] = sampleSquare(backColor, size, seen[0]!, seen[1]!, c * size * size);
          }
        }
      },
    }),
  };
}
