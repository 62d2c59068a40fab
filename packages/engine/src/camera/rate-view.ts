import { type Evidence, type FrontMap, mapSize } from './evidence.js';

/**
 * Weights against the outline's 0..1. The outline alone cannot tell the front of a cupboard from its back. On 28 photos
 * of `models/lab/sets/validation`, with shapes made from their points, the camera is off by less than 10 degrees for
 * 82 % of the photos with these cues and for 75 % without; the median is 4 degrees. The photo's shading as another cue
 * changed nothing, because objects have their own patterns.
 */
const weights = { normals: 0.3, height: 0.6 };

/** How well a view of the shape agrees with the photo, by the outline and the guide's surface. Higher is better. */
export function rateView(front: FrontMap, evidence: Evidence): number {
  const outline = outlineAgreement(front, evidence.outline);
  if (!evidence.front) return outline;
  const { cosine, difference } = compareFronts(front, evidence.front);
  return outline + weights.normals * cosine - weights.height * difference;
}

/** Intersection over union. */
function outlineAgreement({ height }: FrontMap, outline: Uint8Array): number {
  let [both, either] = [0, 0];
  for (let i = 0; i < outline.length; i++) {
    const seen = !Number.isNaN(height[i]!);
    if (seen && outline[i]!) both++;
    if (seen || outline[i]!) either++;
  }
  return both / either;
}

/** A difference of heights counts at most this much, in half widths of the frame. */
const maxDifference = 0.5;

/** The mean cosine between the normals of two maps, and the mean difference of their heights up to a constant. */
function compareFronts(a: FrontMap, b: FrontMap): { cosine: number; difference: number } {
  const differences: number[] = [];
  let cosine = 0;
  for (let i = 0; i < mapSize * mapSize; i++) {
    const difference = a.height[i]! - b.height[i]!;
    if (Number.isNaN(difference)) continue;
    differences.push(difference);
    for (let n = 3 * i; n < 3 * i + 3; n++) cosine += a.normals[n]! * b.normals[n]!;
  }
  const count = differences.length;
  if (count === 0) return { cosine: 0, difference: maxDifference };
  const median = Float32Array.from(differences).sort()[count >> 1]!;
  let sum = 0;
  for (const difference of differences) sum += Math.min(Math.abs(difference - median), maxDifference);
  return { cosine: cosine / count, difference: sum / count };
}
