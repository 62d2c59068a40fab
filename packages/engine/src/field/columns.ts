import type { Box } from '../base/box.js';
import type { Cutout } from '../base/image.js';
import { clamp, sampleSquare, smoothMin } from '../base/interpolation.js';
import type { Bundle } from '../bundle/load-bundle.js';
import type { ReconstructionManifest } from '../bundle/manifest.js';
import { openEncoder, type Session } from '../network/session.js';
import { matteChannel, toInput } from '../photo/frame.js';
import { completeCuboid } from './complete-cuboid.js';
import type { DecoderKind } from './decoder-kind.js';
import { type DensityField, learnedElevation } from './density-field.js';
import { signedDistance } from './distance-transform.js';
import { completeRevolution } from './revolution/complete-revolution.js';
import { type Completed, type Density, see, type View } from './solid.js';

type ColumnsDecoder = Extract<ReconstructionManifest['decoder'], { kind: 'columns' }>;
export type ColumnsManifest = ReconstructionManifest & {
  readonly decoder: ColumnsDecoder;
  readonly camera: NonNullable<ReconstructionManifest['camera']>;
};

/**
 * Pixels a side of the outline and of the front's depth: finer than any network's, so that the silhouette is the
 * photo's.
 */
const outlineSize = 256;

/**
 * Visible parts are at least this thick, as a share of the depth of the box. Otherwise thin parts break up where the
 * network is uncertain.
 */
const minThickness = 1.5 / 64;

/** Maximum added to logits to reach the expected volume: a step less probable than one in eight stays empty. */
const maxLogitBonus = 2;

/**
 * Neighbors whose fronts differ by more than this, where the box is 2 deep, belong to two parts: a cup's rim and the saucer
 * behind it. Fronts are not interpolated between parts, because threads as thin as the minimum thickness would join them.
 */
const maxFrontStep = 0.1;

/** Width, in logits, of the rounded seam where the front, the back and the outline meet. */
const seamRounding = 1.2;

export const columnsKind: DecoderKind = {
  inSteps: false,
  carved: false,
  anyYaw: false,
  async open(bundle: Bundle<ColumnsManifest>, open) {
    const session = await openEncoder(bundle, open);
    return { encode: (cutout) => encodeColumns(bundle, session, cutout), release: () => session.release() };
  },
  async exercise(bundle, open, image, run) {
    const session = await openEncoder(bundle, open);
    await run(session, image).finally(() => session.release());
  },
};

/**
 * Runs a `columns` encoder on a framed cutout and composes its field: empty in front of the predicted front and outside
 * the matte, and as the occupancy says behind the front.
 *
 * The network runs twice, on the image and on its mirror image, and the outputs are averaged: its errors are not
 * symmetric, and most objects nearly are.
 */
async function encodeColumns(
  { manifest }: Bundle<ColumnsManifest>,
  session: Session,
  cutout: Cutout,
): Promise<DensityField> {
  const { input, decoder, elevation } = manifest;
  const size = columnsAcross(manifest);
  const run = async (data: Float32Array) => {
    const outputs = await session.run({
      [input.tensor]: { shape: [1, input.channels, input.size, input.size], data },
    });
    return {
      frontDepth: outputs.get(decoder.frontDepth)!,
      occupancy: outputs.get(decoder.occupancy)!,
      backColor: decoder.color === undefined ? undefined : outputs.get(decoder.color)!,
      elevation: elevation === undefined ? undefined : outputs.get(elevation)![0]!,
    };
  };
  const photo = toInput(cutout, input);
  const [seen, mirrored] = [await run(photo), await run(mirrorRows(photo, input.size))];
  return columnsField(manifest, matteChannel(cutout, size), matteChannel(cutout, outlineSize), {
    frontDepth: averageMirrored(seen.frontDepth, mirrored.frontDepth, size),
    occupancy: averageMirrored(seen.occupancy, mirrored.occupancy, size),
    backColor: seen.backColor && averageMirrored(seen.backColor, mirrored.backColor!, size),
    elevation: seen.elevation === undefined ? undefined : (seen.elevation + mirrored.elevation!) / 2,
  });
}

/** Returns C, the number of columns across the frame. */
const columnsAcross = ({ input, decoder }: ColumnsManifest): number => decoder.size ?? input.size;

interface Columns {
  /** [C·C], -1 (near face of the box) .. 1 (far face). */
  readonly frontDepth: Float32Array;
  /** [steps·C·C] logits. */
  readonly occupancy: Float32Array;
  /** [3·C·C] sRGB in 0..1 of the surface that faces away from the camera, if the network guesses it. */
  readonly backColor?: Float32Array | undefined;
  readonly elevation: number | undefined;
}

/** Combines what the network says of the front, of each step behind it, and of the outline. Inside is above 0. */
function predictedDensity(
  { decoder, camera }: Pick<ColumnsManifest, 'decoder' | 'camera'>,
  size: number,
  { front, occupancy }: { readonly front: Float32Array; readonly occupancy: Float32Array },
  silhouetteAt: (u: number, v: number) => number,
): Density {
  const { steps } = decoder;
  const count = size * size;
  const halfDepth = decoder.halfWidth * decoder.halfDepth;
  const halfTangent = decoder.halfWidth / camera.distance;
  return (x: number, y: number, z: number): number => {
    const scale = 1 / ((camera.distance - z) * halfTangent);
    const u = x * scale;
    const v = -y * scale;
    const silhouette = silhouetteAt(u, v);
    if (silhouette <= -3) return -3;
    const behind = ((-z / halfDepth - sampleFront(front, outlineSize, u, v)) * steps) / 2;
    const step = clamp(behind, 0, steps - 1);
    const k = Math.min(Math.floor(step), steps - 2);
    const near = sampleSquare(occupancy, size, u, v, k * count);
    const far = sampleSquare(occupancy, size, u, v, (k + 1) * count);
    let inside = clamp(near + (far - near) * (step - k), -6, 6);
    // At least the seam's width, or its rounding would cut a rim off the visible surface.
    if (behind < minThickness * steps) inside = Math.max(inside, seamRounding);
    return smoothMin(smoothMin(1.5 * clamp(behind, -4, 4), inside, seamRounding), silhouette, seamRounding);
  };
}

/** Makes a field of a network's outputs. `coarseMatte` is [C·C], `fineMatte` [outlineSize·outlineSize]. */
export function columnsField(
  manifest: ColumnsManifest,
  coarseMatte: Float32Array,
  fineMatte: Float32Array,
  raw: Columns,
): DensityField {
  const { decoder, camera, threshold } = manifest;
  const size = columnsAcross(manifest);
  const { steps } = decoder;
  const count = size * size;
  const halfDepth = decoder.halfWidth * decoder.halfDepth;
  const halfTangent = decoder.halfWidth / camera.distance;
  const filter = bilateralFilter(raw.frontDepth, coarseMatte, size);
  const frontDepth = withoutRamps(smoothed(raw.frontDepth, count, filter), coarseMatte, size);
  const occupancy = smoothed(raw.occupancy, count, filter);
  addExpectedVolume(occupancy, coarseMatte);
  const front = upsampleInside(frontDepth, coarseMatte, size);
  const backColor = raw.backColor && smoothed(raw.backColor, count, filter);
  const outline = signedDistance(fineMatte, outlineSize);
  const distanceInside = (u: number, v: number) => (sampleSquare(outline, outlineSize, u, v) * 2) / outlineSize;
  // About the slope of the network's own occupancy across an edge: one logit per pixel of the network.
  const silhouetteAt = (u: number, v: number) => clamp((distanceInside(u, v) * size) / 2, -3, 3);
  const predicted = predictedDensity(manifest, size, { front, occupancy }, silhouetteAt);
  const { near, far } = depthRange(frontDepth, occupancy, coarseMatte, size, steps);
  const [zMax, zMin] = [-near * halfDepth, -far * halfDepth];
  const [uMax, vMax] = reachOf(coarseMatte, size);
  const widest = (camera.distance - zMin) * halfTangent;
  const bounds: Box = {
    min: [-uMax * widest, -vMax * widest, zMin],
    max: [uMax * widest, vMax * widest, zMax],
  };
  const view: View = {
    camera: { distance: camera.distance, halfTangent },
    outline: silhouetteAt,
    distanceInside,
  };
  const completed = raw.elevation === undefined ? undefined : complete(predicted, view, bounds, raw.elevation);
  const {
    density,
    camera: seenBy,
    elevation,
  } = completed ?? {
    density: predicted,
    camera: view.camera,
    elevation: raw.elevation === undefined ? undefined : learnedElevation(raw.elevation),
  };
  return {
    threshold,
    camera: seenBy,
    elevation,
    projects: false,
    bumpyBehind: !completed,
    bounds: completed?.bounds ?? bounds,
    async evaluate(points, values) {
      for (let i = 0, p = 0; i < values.length; i++, p += 3) {
        values[i] = density(points[p]!, points[p + 1]!, points[p + 2]!);
      }
    },
    ...(backColor && {
      colorsRepeatFront: true,
      async evaluateColors(points: Float32Array, colors: Float32Array) {
        for (let p = 0; p < points.length; p += 3) {
          const scale = 1 / ((seenBy.distance - points[p + 2]!) * seenBy.halfTangent);
          for (let c = 0; c < 3; c++) {
            colors[p + c] = sampleSquare(backColor, size, points[p]! * scale, -points[p + 1]! * scale, c * count);
          }
        }
      },
    }),
  };
}

/** Completes the far side, if the object is a cuboid or a solid of revolution. */
function complete(density: Density, view: View, bounds: Box, elevationRadians: number): Completed | undefined {
  const seen = see(density, view, bounds);
  return (
    completeRevolution(density, view, seen, bounds, elevationRadians) ??
    completeCuboid(density, view, seen, bounds, elevationRadians)
  );
}

/** Reverses each row of each [size·size] channel. */
function mirrorRows(channels: Float32Array, size: number): Float32Array {
  const mirrored = channels.slice();
  for (let row = 0; row < mirrored.length; row += size) mirrored.subarray(row, row + size).reverse();
  return mirrored;
}

/** Averages [size·size] channels with those of the mirror image, in place: the occupancy has millions of values. */
function averageMirrored(channels: Float32Array, mirrored: Float32Array, size: number): Float32Array {
  for (let row = 0; row < channels.length; row += size) {
    for (let x = 0; x < size; x++) channels[row + x] = (channels[row + x]! + mirrored[row + size - 1 - x]!) / 2;
  }
  return channels;
}

/** The pixels to filter [N], their 3x3 neighborhoods, and the weights of these: [9·N] each. */
interface Filter {
  readonly pixels: Uint32Array;
  readonly neighbors: Uint32Array;
  readonly weights: Float32Array;
}

/**
 * Makes a bilateral filter whose range is a few voxels of depth. It evens out the staircase that a network learns from
 * voxels, and keeps the steps between parts.
 */
function bilateralFilter(depth: Float32Array, matte: Float32Array, size: number): Filter {
  const range = 0.08;
  const pixels = pixelsWithin(2, matte, size);
  const neighbors = new Uint32Array(9 * pixels.length);
  const weights = new Float32Array(9 * pixels.length);
  pixels.forEach((i, at) => {
    let total = 0;
    for (let n = 0; n < 9; n++) {
      const j = neighbor(i, n, size);
      const apart = (depth[j]! - depth[i]!) / range;
      neighbors[9 * at + n] = j;
      weights[9 * at + n] = (0.02 + matte[j]!) * Math.exp(-apart * apart);
      total += weights[9 * at + n]!;
    }
    for (let n = 0; n < 9; n++) weights[9 * at + n]! /= total;
  });
  return { pixels, neighbors, weights };
}

/** Finds the pixels of the object, and those that are up to `distance` pixels away from it. */
function pixelsWithin(distance: number, matte: Float32Array, size: number): Uint32Array {
  let isNear = Uint8Array.from(matte, (coverage) => (coverage > 0 ? 1 : 0));
  for (let round = 0; round < distance; round++) {
    const wider = isNear.slice();
    for (let i = 0; i < isNear.length; i++) {
      if (isNear[i]) for (let n = 0; n < 9; n++) wider[neighbor(i, n, size)] = 1;
    }
    isNear = wider;
  }
  return Uint32Array.from(isNear.keys()).filter((i) => isNear[i]);
}

/** Returns the n-th pixel of the 3x3 neighborhood of i, or i itself beyond the border. */
function neighbor(i: number, n: number, size: number): number {
  const x = (i % size) + (n % 3) - 1;
  const y = Math.floor(i / size) + Math.floor(n / 3) - 1;
  return x < 0 || y < 0 || x >= size || y >= size ? i : y * size + x;
}

/**
 * Filters each [S·S] channel, once: a second pass would round sharp edges. Far from the object, values stay as they are,
 * which saves most of the time.
 */
function smoothed(channels: Float32Array, count: number, { pixels, neighbors, weights }: Filter): Float32Array {
  const filtered = channels.slice();
  for (let first = 0; first < channels.length; first += count) {
    for (let p = 0; p < pixels.length; p++) {
      let sum = 0;
      for (let k = 9 * p; k < 9 * p + 9; k++) sum += weights[k]! * channels[first + neighbors[k]!]!;
      filtered[first + pixels[p]!] = sum;
    }
  }
  return filtered;
}

/**
 * Moves each column's front to that of the nearer or of the farther part, where two parts meet. The network's own depth is
 * in between there, and would become a thread that joins them.
 */
function withoutRamps(depth: Float32Array, matte: Float32Array, size: number): Float32Array {
  return depth.map((value, i) => {
    if (matte[i]! <= 0.5) return value;
    let [near, far] = [value, value];
    for (let n = 0; n < 9; n++) {
      const j = neighbor(i, n, size);
      if (matte[j]! <= 0.5) continue;
      near = Math.min(near, depth[j]!);
      far = Math.max(far, depth[j]!);
    }
    if (far - near <= 2 * maxFrontStep) return value;
    return value - near < far - value ? near : far;
  });
}

/**
 * Adds one number, 0 to `maxLogitBonus`, to all logits [steps·C·C] in place, so that as many steps inside the matte are occupied
 * as the network expects: the sum of their probabilities.
 *
 * Where the depth cannot be seen, as behind a flat front, each single step is more likely empty than occupied. Deciding
 * step by step would then leave a sheet, although the object itself is hardly ever one.
 */
function addExpectedVolume(occupancy: Float32Array, matte: Float32Array): void {
  const inside = Uint32Array.from(matte.keys()).filter((i) => matte[i]! > 0.5);
  let missing = 0;
  const uncertain: number[] = [];
  for (let first = 0; first < occupancy.length; first += matte.length) {
    for (let p = 0; p < inside.length; p++) {
      const logit = occupancy[first + inside[p]!]!;
      missing += 1 / (1 + Math.exp(-logit));
      if (logit > 0) missing -= 1;
      else if (logit > -maxLogitBonus) uncertain.push(logit);
    }
  }
  const nth = Math.round(missing);
  if (!(nth > 0)) return;
  const likeliest = Float32Array.from(uncertain).sort().reverse();
  const bonus = -(likeliest[nth - 1] ?? -maxLogitBonus);
  for (let i = 0; i < occupancy.length; i++) occupancy[i]! += bonus;
}

/**
 * Scales a depth map up to `outlineSize`, mixing only pixels inside the matte: a network's depth outside the object is
 * arbitrary, and mixing it in would stretch the rim of the surface.
 */
function upsampleInside(depth: Float32Array, matte: Float32Array, size: number): Float32Array {
  const weight = matte.map((coverage) => (coverage > 0.5 ? 1 : 1e-4 + 0.01 * coverage));
  const scaled = new Float32Array(outlineSize * outlineSize);
  for (let y = 0; y < outlineSize; y++) {
    const v = ((y + 0.5) / outlineSize) * 2 - 1;
    for (let x = 0; x < outlineSize; x++) {
      const u = ((x + 0.5) / outlineSize) * 2 - 1;
      scaled[y * outlineSize + x] = sampleFront(depth, size, u, v, weight);
    }
  }
  return scaled;
}

/**
 * Interpolates the depth of the front at a position from -1 to 1, among those of the four samples around it that belong to
 * the part of the one that counts most.
 *
 * @param weight of each sample
 */
function sampleFront(depth: Float32Array, size: number, u: number, v: number, weight?: Float32Array): number {
  const x = clamp(((u + 1) * size - 1) / 2, 0, size - 1);
  const y = clamp(((v + 1) * size - 1) / 2, 0, size - 1);
  const [left, top] = [Math.min(Math.floor(x), size - 2), Math.min(Math.floor(y), size - 2)];
  const first = top * size + left;
  let [part, most] = [0, -1];
  for (let corner = 0; corner < 4; corner++) {
    const i = first + (corner & 1) + size * (corner >> 1);
    const share = shareOf(corner, x - left, y - top) * (weight ? weight[i]! : 1);
    if (share > most) [part, most] = [depth[i]!, share];
  }
  let [sum, total] = [0, 0];
  for (let corner = 0; corner < 4; corner++) {
    const i = first + (corner & 1) + size * (corner >> 1);
    if (Math.abs(depth[i]! - part) > maxFrontStep) continue;
    const share = shareOf(corner, x - left, y - top) * (weight ? weight[i]! : 1);
    sum += share * depth[i]!;
    total += share;
  }
  return sum / total;
}

/** The bilinear weight of one of the four samples around a position, which is `right` and `down` from the first. */
const shareOf = (corner: number, right: number, down: number): number =>
  (corner & 1 ? right : 1 - right) * (corner & 2 ? down : 1 - down);

/** Finds the range of normalized depth that contains everything occupied, with a few steps of margin. */
function depthRange(
  frontDepth: Float32Array,
  occupancy: Float32Array,
  matte: Float32Array,
  size: number,
  steps: number,
): { near: number; far: number } {
  const count = size * size;
  // A needle may be thinner than a column, so that it covers every column only in part.
  const minCoverage = Math.min(0.2, 0.5 * matte.reduce((max, coverage) => Math.max(max, coverage), 0));
  let [near, far] = [1, -1];
  for (let i = 0; i < count; i++) {
    if (matte[i]! < minCoverage) continue;
    let last = minThickness * steps;
    for (let k = steps - 1; k > last; k--) if (occupancy[k * count + i]! > 0) last = k;
    near = Math.min(near, frontDepth[i]!);
    far = Math.max(far, frontDepth[i]! + (2 * last) / steps);
  }
  const margin = 6 / steps;
  return { near: Math.max(near - margin, -1.2), far: Math.min(far + margin, 1.4) };
}

/** Measures how far the matte reaches from the middle of the frame, in -1..1 coordinates, with two pixels of margin. */
function reachOf(matte: Float32Array, size: number): [u: number, v: number] {
  let [u, v] = [0, 0];
  for (let y = 0; y < size; y++) {
    for (let x = 0; x < size; x++) {
      if (matte[y * size + x]! < 0.05) continue;
      u = Math.max(u, Math.abs(((x + 0.5) / size) * 2 - 1));
      v = Math.max(v, Math.abs(((y + 0.5) / size) * 2 - 1));
    }
  }
  return [Math.min(u + 4 / size, 1), Math.min(v + 4 / size, 1)];
}
