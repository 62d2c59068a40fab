import { type Box, boxAround, boxAroundBoth } from '../../../base/box.js';
import { type Camera, frameScale } from '../../../base/camera.js';
import { areaOf, distanceInside, type Edge, hullOf, type Position } from '../../../base/convex-hull.js';
import { clamp } from '../../../base/interpolation.js';
import { minimize } from '../../nelder-mead.js';
import {
  coverageAt,
  type Density,
  type FindSolid,
  type Front,
  type Outline,
  type Seen,
  toPixels,
  withParts,
} from '../solid.js';
import { axesAt, type Cuboid, cornersOf, densityOf, dot, outlineOf, slope, type Vector } from './cuboid.js';

/**
 * When a cuboid explains a photo: the overlap of the outlines, the share of its edges that are edges in the photo, and
 * the mean distance between the fronts, in sizes of the object. Tuned on the validation set, where boxes, books and
 * cupboards have at least 0.91, 0.91 and at most 0.043, and the demo's camera 0.93, 0.96 and 0.063. A carton that lies on
 * its side has 0.97, 0.91 and 0.071, a van 0.94, 0.98 and 0.076, an octagonal basket 0.96, 0.82 and 0.030.
 */
const [minOverlap, minStraightness, maxFrontError] = [0.9, 0.91, 0.07];

/**
 * The share of its convex hull that an object covers at least, or else nothing is searched: in the validation set, boxes
 * with parts outside cover 0.87, chairs, animals and plants at most 0.75.
 */
const minConvexity = 0.85;

/**
 * The share of its convex hull that a hexagon inside it covers at least, or else nothing is searched: the outline of a
 * cuboid has four to six corners. In the validation set, cuboids have at least 0.93 and the demo's camera 0.914; cups,
 * mugs, cakes and most robots less than 0.9. A robot and a tractor have 0.907 and 0.909, and are rejected later.
 */
const minHexagon = 0.9;

/** How far, in pixels, the outline may be from a straight edge. */
const edgeTolerance = 1;

/** How much the terms of the cost weigh, in shares of the overlap. */
const weights = { front: 0.5, back: 0.1, elevation: 0.005, zoom: 0.003, roll: 0.002, thin: 0.012 };

/** Greatest differences that count, in sizes of the object: beyond, the front is another part's. */
const [maxFrontGap, maxBackGap] = [0.3, 0.5];

/** Photos are mostly taken from a little nearer than the network assumes: the natural logarithm of `zoom`. */
const usualZoom = { mean: 0.25, spread: 0.25 };

/** Initial differences between the simplex's corners: of the angles, the center, the sizes and the zoom. */
const searchSteps = [0.15, 0.08, 0.06, 0.03, 0.03, 0.05, 0.15, 0.15, 0.15, 0.15];

/**
 * How the search goes from coarse to fine: at every `stride`-th pixel, the best `count` cuboids are refined in at most
 * `rounds` steps of a new simplex, `reach` times as large as `searchSteps`, because the last one may have collapsed before
 * it reached the minimum. The search ends if none has an overlap of at least `minOverlap - slack`.
 */
const searchStages = [
  { stride: 7, count: 6, rounds: 70, reach: 1, slack: 0.12 },
  { stride: 3, count: 3, rounds: 120, reach: 0.5, slack: 0.05 },
  { stride: 2, count: 1, rounds: 160, reach: 0.35, slack: 0.02 },
  { stride: 1, count: 1, rounds: 100, reach: 0.2, slack: 0 },
];

/**
 * How round a cuboid's edges may be, in shares of half its thinnest side. In the validation set, they are at most 0.25,
 * except for a monitor that is seen from its edge. The demo's camera has 0.29, a cushion or a bun twice as much.
 */
const maxRoundness = 0.5;

/** Two cells of the grid: sharper edges would become saw teeth. */
const minEdgeRadius = 0.012;

/** How far, in pixels of the network, the cuboid may stand out of the photo's outline: edges stay straight. */
const outlineMargin = 1;

/**
 * Completes boxes, books, cupboards and other cuboids, whose far side the network predicts dented, bent or open.
 *
 * The outline of a cuboid shows its proportions and direction, and how strong the perspective is. So a cuboid and a lens
 * are fitted to the outline and the predicted front. If both agree with it, the cuboid replaces the prediction. What is
 * outside of the cuboid in the photo stays: feet, handles, the stand of a monitor. The search is skipped where the
 * outline is far from convex or has rounded corners.
 */
export const findCuboid: FindSolid = (outline, front) => {
  const { seen, bounds } = front;
  const hull = hullOf(Array.from(seen.u, (u, i): Position => [u, seen.v[i]!]));
  if (seen.totalCoverage / toPixels ** 2 < minConvexity * areaOf(hull)) return undefined;
  if (hexagonArea(hull) < minHexagon * areaOf(hull)) return undefined;
  const found = search(outline, front);
  if (!found) return undefined;
  const { cuboid, pitch, roll } = found;
  const { camera } = cuboid;
  const edges = outlineOf(cuboid);
  const edgeRadius = Math.max(minEdgeRadius, roundingOf(edges, outline) * camera.distance * camera.halfTangent);
  if (edgeRadius > maxRoundness * Math.min(...cuboid.half)) return undefined;
  const solid: Density = (x, y, z) => densityOf(cuboid, edgeRadius, x, y, z);
  const perspective = (z: number) => frameScale(camera, z) / frameScale(outline.camera, z);
  const { min, max } = bounds;
  const widened = Math.max(perspective(min[2]), perspective(max[2]));
  const predicted: Box = {
    min: [min[0] * widened, min[1] * widened, min[2]],
    max: [max[0] * widened, max[1] * widened, max[2]],
  };
  return {
    density: withParts(solid, camera, outlineMargin, outline, front, (u, v) => distanceInside(edges, u, v)),
    camera,
    bounds: boxAroundBoth(predicted, boxAround(Float32Array.from(cornersOf(cuboid).flat()), 2 / slope)),
    elevation: { radians: pitch, spreadRadians: 0 },
    rollRadians: roll,
    completedAs: 'cuboid',
  };
};

/**
 * The radius of the edges, in units of the frame: that of the arcs which leave as much of the corners of the outline
 * empty as the photo does. It is a median, because a corner that is cut off or covered by a part is an outlier. The more
 * a radius leaves empty at a corner, the more the corner counts.
 */
function roundingOf(edges: readonly Edge[], outline: Outline): number {
  const corners = edges.map(({ from, a, b }, i) => {
    const before = edges.at(i - 1)!;
    // The angle between the edges at this corner is 180 degrees less that between their normals.
    const halfAngle = (Math.PI - Math.acos(clamp(a * before.a + b * before.b, -1, 1))) / 2;
    const weight = 1 / Math.sin(halfAngle) - 1;
    return { radius: Math.max(0, -outline.distanceInside(...from)) / weight, weight };
  });
  corners.sort((one, other) => one.radius - other.radius);
  const half = corners.reduce((sum, { weight }) => sum + weight, 0) / 2;
  let sum = 0;
  for (const { radius, weight } of corners) {
    sum += weight;
    if (sum >= half) return radius;
  }
  return 0;
}

/** The area of the hexagon that remains of a hull, if the corners that matter least are removed one after another. */
function hexagonArea(hull: readonly Edge[]): number {
  const corners = hull.map(({ from }) => from);
  const earArea = (i: number) => {
    const [a, b, c] = [corners.at(i - 1)!, corners[i]!, corners[(i + 1) % corners.length]!];
    return Math.abs((b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1])) / 2;
  };
  let area = areaOf(hull);
  while (corners.length > 6) {
    const ears = corners.map((_, i) => earArea(i));
    const smallest = ears.indexOf(Math.min(...ears));
    area -= ears[smallest]!;
    corners.splice(smallest, 1);
  }
  return area;
}

/** The cuboid that agrees best with the outline and the front, if it agrees well enough. */
function search(
  outline: Outline,
  { seen, elevationRadians }: Front,
): { cuboid: Cuboid; pitch: number; roll: number } | undefined {
  const { camera } = outline;
  // The square root of the object's area in the plane z = 0, in units of camera space.
  const extent = (Math.sqrt(seen.totalCoverage) / toPixels) * camera.distance * camera.halfTangent;
  const agreementOf = (variables: readonly number[], stride: number) =>
    agreement(cuboidOf(namesOf(variables), camera), seen, extent, stride);
  const cost = (stride: number) => (variables: readonly number[]) => {
    const { pitch, roll, sizes, zoom } = namesOf(variables);
    const { overlap, frontError, backError } = agreementOf(variables, stride);
    // Plates are rarer than boxes. Where the third side cannot be seen, the network makes a sheet.
    const thinness = Math.max(0, Math.max(...sizes) - Math.min(...sizes) - 1);
    return (
      1 -
      overlap +
      weights.front * frontError +
      weights.back * backError +
      weights.elevation * Math.min(1, ((pitch - elevationRadians) / 0.2) ** 2) +
      weights.zoom * ((zoom - usualZoom.mean) / usualZoom.spread) ** 2 +
      weights.roll * (roll / 0.1) ** 2 +
      weights.thin * thinness ** 2
    );
  };
  let found = startsFor(seen, camera, elevationRadians);
  for (const { stride, count, rounds, reach, slack } of searchStages) {
    const costAt = cost(stride);
    const steps = searchSteps.map((step) => step * reach);
    found = found
      .map((variables) => ({ variables, value: costAt(variables) }))
      .sort((a, b) => a.value - b.value)
      .slice(0, count)
      .map(({ variables }) => minimize(costAt, variables, steps, rounds));
    if (!found.some((variables) => agreementOf(variables, stride).overlap >= minOverlap - slack)) return undefined;
  }
  const best = namesOf(found[0]!);
  const { overlap, frontError } = agreementOf(found[0]!, 1);
  if (overlap < minOverlap || frontError > maxFrontError) return undefined;
  const cuboid = cuboidOf(best, camera);
  if (straightness(cuboid, outline) < minStraightness) return undefined;
  return { cuboid, pitch: best.pitch, roll: best.roll };
}

/** The variables of the search. The sizes (half the width, height and depth) and the zoom are natural logarithms. */
interface Variables {
  readonly yaw: number;
  readonly pitch: number;
  readonly roll: number;
  readonly center: Vector;
  readonly sizes: Vector;
  readonly zoom: number;
}

/** Names the values of the variables, which are in the order of `searchSteps`. */
function namesOf(variables: readonly number[]): Variables {
  const [yaw, pitch, roll, x, y, z, width, height, depth, zoom] = variables as [
    ...[yaw: number, pitch: number, roll: number],
    ...Vector,
    ...Vector,
    number,
  ];
  return { yaw, pitch, roll, center: [x, y, z], sizes: [width, height, depth], zoom };
}

function cuboidOf({ yaw, pitch, roll, center, sizes, zoom }: Variables, { distance, halfTangent }: Camera): Cuboid {
  const factor = Math.exp(zoom);
  const [width, height, depth] = sizes;
  return {
    // The nearer the camera, the wider its lens: the object keeps its size in the photo.
    camera: { distance: distance / factor, halfTangent: halfTangent * factor },
    center,
    axes: axesAt(yaw, pitch, roll),
    half: [Math.exp(width), Math.exp(height), Math.exp(depth)],
  };
}

/** Cuboids around the prediction, in several directions. */
function startsFor({ u, v, front, back }: Seen, camera: Camera, elevationRadians: number): (readonly number[])[] {
  const points: Vector[] = [];
  for (let i = 0; i < u.length; i += 4) {
    if (Number.isNaN(front[i]!)) continue;
    for (const z of [front[i]!, back[i]!]) {
      const scale = frameScale(camera, z);
      points.push([u[i]! * scale, -v[i]! * scale, z]);
    }
  }
  if (points.length === 0) return [];
  const starts: number[][] = [];
  for (const lift of [-0.12, 0, 0.12]) {
    for (let turn = -2.5; turn <= 2.5; turn++) {
      const [yaw, pitch] = [(turn * Math.PI) / 12, elevationRadians + lift];
      const axes = axesAt(yaw, pitch, 0);
      const ranges = axes.map((axis) => {
        const sorted = Float64Array.from(points, (point) => dot(axis, point)).sort();
        return { low: sorted[Math.floor(0.03 * sorted.length)]!, high: sorted[Math.floor(0.97 * sorted.length)]! };
      });
      const center = [0, 1, 2].map((c) =>
        ranges.reduce((sum, { low, high }, axis) => sum + ((low + high) / 2) * axes[axis]![c]!, 0),
      );
      const sizes = ranges.map(({ low, high }) => Math.log(Math.max(0.01, (high - low) / 2)));
      starts.push([yaw, pitch, 0, ...center, ...sizes, 0.1]);
    }
  }
  return starts;
}

/**
 * Compares a cuboid with the photo and the prediction at every `stride`-th pixel: intersection over union of the
 * outlines, and the mean distances between the fronts and between the backs, in sizes of the object.
 */
function agreement(
  cuboid: Cuboid,
  { u, v, coverage, totalCoverage, front, back }: Seen,
  extent: number,
  stride: number,
): { overlap: number; frontError: number; backError: number } {
  const none = { overlap: 0, frontError: maxFrontGap, backError: maxBackGap };
  const { camera, center, axes, half } = cuboid;
  if (cornersOf(cuboid).some(([, , z]) => camera.distance - z < 0.1)) return none;
  const edges = outlineOf(cuboid);
  // The camera in the cuboid's own axes.
  const eye = axes.map((axis) => dot(axis, [-center[0], -center[1], camera.distance - center[2]]));
  let [both, frontGaps, backGaps, count] = [0, 0, 0, 0];
  for (let i = 0; i < u.length; i += stride) {
    const covered = coverageAt(distanceInside(edges, u[i]!, v[i]!));
    both += Math.min(covered, coverage[i]!);
    if (covered < 0.9 || coverage[i]! < 0.9 || Number.isNaN(front[i]!)) continue;
    const [rayX, rayY] = [u[i]! * camera.halfTangent, -v[i]! * camera.halfTangent];
    let [enter, leave] = [-Infinity, Infinity];
    for (let a = 0; a < 3; a++) {
      const axis = axes[a]!;
      const speed = axis[0] * rayX + axis[1] * rayY - axis[2] || 1e-12;
      const [one, other] = [(-half[a]! - eye[a]!) / speed, (half[a]! - eye[a]!) / speed];
      enter = Math.max(enter, Math.min(one, other));
      leave = Math.min(leave, Math.max(one, other));
    }
    if (enter > leave) continue;
    frontGaps += Math.min(Math.abs(camera.distance - enter - front[i]!) / extent, maxFrontGap);
    backGaps += Math.min(Math.abs(camera.distance - leave - back[i]!) / extent, maxBackGap);
    count++;
  }
  if (count === 0) return none;
  const common = both * stride;
  return {
    overlap: common / (totalCoverage + areaOf(edges) * toPixels ** 2 - common),
    frontError: frontGaps / count,
    backError: backGaps / count,
  };
}

/** The share of a cuboid's outline that is an outline in the photo, too. */
function straightness(cuboid: Cuboid, outline: Outline): number {
  let [near, all] = [0, 0];
  for (const { from, to } of outlineOf(cuboid)) {
    const length = toPixels * Math.hypot(to[0] - from[0], to[1] - from[1]);
    for (let along = 0.25; along < length; along += 0.5) {
      const share = along / length;
      const [u, v] = [from[0] + (to[0] - from[0]) * share, from[1] + (to[1] - from[1]) * share];
      all++;
      if (toPixels * Math.abs(outline.distanceInside(u, v)) < edgeTolerance) near++;
    }
  }
  return near / all;
}
