import { clamp, sampleSquare, smoothMin } from '../base/interpolation.js';
import { sampleFront } from '../field/front-depth.js';
import { type BentView, bentDepth } from './bend.js';
import { mapSize, newSample, sampleMap, sampleOutline } from './map.js';
import { seePoint } from './view-camera.js';

// Combines what several photos show of a point. A point outside any outline is empty. Near the fronts, their weighted
// mean decides; elsewhere, the networks' guesses do, mainly that of the nearest front. The space is that of the front
// photo's camera, in whose units an object is about 1 long. The constants were measured on 24 objects.

/** Logits per unit of space, as in the field of one photo: at a front, and at an outline. */
const frontSlope = 80;
const outlineSlope = 106;
/** Width in logits of the rounded seams. */
export const seamRounding = 1.2;
/** A front has its full weight at points before it, and none at points this far behind it. */
const band = 0.05;
/** The front photo's relief counts this many times, so that the front of the model is that of one photo. */
const frontFavor = 4;
/** The weight of a front without trust. */
const minFrontWeight = 0.1;
/** Softens the weight of a guess by its distance behind the front. */
const guessReach = 0.03;
/** The minimum evidence, in logits, reached about a tenth of the size outside an outline or before a front. */
export const leastEvidence = -10;
/** The number of steps behind a front that are always occupied. */
const minSteps = 2.25;

/** The evidence that a point is inside the object, in logits. */
export interface Evidence {
  /** The front photo's outline, which is exact: the camera is its own. -3 outside. */
  outline: number;
  /** All other evidence, at least `leastEvidence`. */
  others: number;
}

/** Returns a function that writes the evidence at a point to `found`. */
export function fusedEvidence(views: readonly BentView[]) {
  const seen = new Float64Array(4);
  const sample = newSample();
  // Where each photo shows the point, and how far the point is behind that photo's front.
  const us = new Float64Array(views.length);
  const vs = new Float64Array(views.length);
  const depths = new Float64Array(views.length);
  return (x: number, y: number, z: number, found: Evidence): void => {
    found.outline = -3;
    found.others = leastEvidence;
    let inside = 3;
    let [fronts, frontWeights, guesses, guessWeights] = [0, 0, 0, 0];
    for (let i = 0; i < views.length; i++) {
      const { view, camera } = views[i]!;
      seePoint(camera, x, y, z, seen);
      const scale = seen[3]!;
      if (scale < 1e-3) return;
      const [u, v] = [seen[0]!, seen[1]!];
      sampleOutline(view.wideOutline, mapSize, u, v, sample);
      const outline = Math.min(sample.value * scale * outlineSlope, 3);
      if (i === 0) {
        if (outline <= -3) return;
        found.outline = outline;
      } else {
        if (outline <= leastEvidence) return;
        inside = smoothMin(inside, outline, seamRounding);
      }
      const behind = bentDepth(views[i]!, sampleFront(view.front, mapSize, u, v), u, v) - seen[2]!;
      sampleMap(view.trust, mapSize, u, v, sample);
      const trust = (minFrontWeight + (1 - minFrontWeight) * sample.value) * (i === 0 ? frontFavor : 1);
      const weight = trust * (behind <= 0 ? 1 : Math.max(0, 1 - behind / band));
      fronts += weight * Math.max(behind, leastEvidence / frontSlope);
      frontWeights += weight;
      us[i] = u;
      vs[i] = v;
      depths[i] = behind;
    }
    if (frontWeights > 1e-3) {
      inside = smoothMin(inside, Math.min((fronts / frontWeights) * frontSlope, 6), seamRounding);
    }
    if (inside <= leastEvidence) return;
    for (let i = 0; i < views.length; i++) {
      const { view, camera } = views[i]!;
      const guessWeight = 1 / (guessReach + Math.max(depths[i]!, 0)) ** 2;
      guesses += guessWeight * guessAt(view, us[i]!, vs[i]!, depths[i]! / camera.reliefScale);
      guessWeights += guessWeight;
    }
    found.others = Math.max(smoothMin(inside, guesses / guessWeights, seamRounding), leastEvidence);
  };
}

/** The logit of the network's occupancy at a depth behind its front, in the network's units. */
function guessAt({ prediction }: BentView['view'], u: number, v: number, behind: number): number {
  const { occupancy, size, manifest } = prediction;
  const { steps, halfWidth, halfDepth } = manifest.decoder;
  const step = clamp((behind * steps) / (2 * halfWidth * halfDepth), 0, steps - 1);
  const nearer = Math.min(Math.floor(step), steps - 2);
  const near = sampleSquare(occupancy, size, u, v, nearer * size * size);
  const far = sampleSquare(occupancy, size, u, v, (nearer + 1) * size * size);
  const logit = clamp(near + (far - near) * (step - nearer), -6, 6);
  return step < minSteps ? Math.max(logit, seamRounding) : logit;
}
