import type { Cutout } from '../base/image.js';
import type { Bundle } from '../bundle/load-bundle.js';
import type { ReconstructionManifest } from '../bundle/manifest.js';
import type { Session } from '../network/session.js';
import { toInput } from '../photo/frame.js';
import { type DensityField, learnedElevation } from './density-field.js';
import { signedDistance } from './distance-transform.js';
import { mattePlane } from './matte-plane.js';
import { sampleBilinear } from './plane.js';
import { smoothMin } from './smooth-min.js';

type ColumnsDecoder = Extract<ReconstructionManifest['decoder'], { kind: 'columns' }>;
export type ColumnsManifest = ReconstructionManifest & {
  readonly decoder: ColumnsDecoder;
  readonly camera: NonNullable<ReconstructionManifest['camera']>;
};

/** Pixels a side of the outline and of the front's depth: finer than any network's, so the silhouette is the photo's. */
const outlineSize = 256;

/** What is seen is at least this many steps thick, or a thin part would break up wherever the network doubts it. */
const minThicknessSteps = 1.5;

/** The most that is added to logits for the sake of the volume: a step less probable than one in eight stays empty. */
const mostBenefit = 2;

/** Width, in logits, of the rounded seam where the front, the back and the outline meet. */
const seamRounding = 1.2;

/**
 * Runs a `columns` encoder on a framed cut-out and composes its field: in front of the predicted front nothing, behind
 * it what the occupancy says, outside the matte nothing.
 *
 * The network is asked twice, once about the mirrored picture, and the answers are averaged: its errors are not
 * symmetric, the world nearly is.
 */
export async function encodeColumns(
  { manifest }: Bundle<ColumnsManifest>,
  session: Session,
  cutout: Cutout,
): Promise<DensityField> {
  const { input, decoder, elevation } = manifest;
  const { size: pictureSize } = input;
  const size = columnsAcross(manifest);
  const run = async (data: Float32Array) => {
    const outputs = await session.run({
      [input.tensor]: { shape: [1, input.channels, pictureSize, pictureSize], data },
    });
    return {
      frontDepth: outputs.get(decoder.frontDepth)!,
      occupancy: outputs.get(decoder.occupancy)!,
      backColor: decoder.color === undefined ? undefined : outputs.get(decoder.color)!,
      elevation: elevation === undefined ? undefined : outputs.get(elevation)![0]!,
    };
  };
  const photo = toInput(cutout, input);
  const [seen, mirrored] = [await run(photo), await run(mirrorRows(photo, pictureSize))];
  return columnsField(manifest, mattePlane(cutout, size), mattePlane(cutout, outlineSize), {
    frontDepth: mean(seen.frontDepth, mirrorRows(mirrored.frontDepth, size)),
    occupancy: mean(seen.occupancy, mirrorRows(mirrored.occupancy, size)),
    backColor: seen.backColor && mean(seen.backColor, mirrorRows(mirrored.backColor!, size)),
    elevation: seen.elevation === undefined ? undefined : (seen.elevation + mirrored.elevation!) / 2,
  });
}

/** C: how many columns stand across the frame. */
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

/** The field of a network's answer. `coarseMatte` is [C·C], `fineMatte` [outlineSize·outlineSize]. */
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
  const weights = smoothingWeights(raw.frontDepth, coarseMatte, size);
  const frontDepth = smoothed(raw.frontDepth, weights, size);
  const occupancy = withExpectedVolume(smoothed(raw.occupancy, weights, size), coarseMatte);
  const front = upsampleInside(frontDepth, coarseMatte, size);
  const backColor = raw.backColor && smoothed(raw.backColor, weights, size);
  const outline = signedDistance(fineMatte, outlineSize);
  // One logit a pixel of the network: the slope at which its own occupancy changes across an edge, about.
  const outlineScale = size / outlineSize;

  const density = (x: number, y: number, z: number): number => {
    const scale = 1 / ((camera.distance - z) * halfTangent);
    const u = x * scale;
    const v = -y * scale;
    const silhouette = clamp(sampleBilinear(outline, outlineSize, u, v) * outlineScale, -3, 3);
    if (silhouette <= -3) return -3;
    const behind = ((-z / halfDepth - sampleBilinear(front, outlineSize, u, v)) * steps) / 2;
    const step = clamp(behind, 0, steps - 1);
    const k = Math.min(Math.floor(step), steps - 2);
    const near = sampleBilinear(occupancy, size, u, v, k * count);
    const far = sampleBilinear(occupancy, size, u, v, (k + 1) * count);
    let inside = clamp(near + (far - near) * (step - k), -6, 6);
    // By the seam's width or more, or its rounding would take a rim off what is seen.
    if (behind < minThicknessSteps) inside = Math.max(inside, seamRounding);
    return smoothMin(smoothMin(1.5 * clamp(behind, -4, 4), inside, seamRounding), silhouette, seamRounding);
  };

  const { near, far } = depthRange(frontDepth, occupancy, coarseMatte, size, steps);
  const [zMax, zMin] = [-near * halfDepth, -far * halfDepth];
  const [uMax, vMax] = extentOf(coarseMatte, size);
  const widest = (camera.distance - zMin) * halfTangent;
  return {
    threshold,
    camera: { distance: camera.distance, halfTangent },
    elevation: raw.elevation === undefined ? undefined : learnedElevation(raw.elevation),
    projects: false,
    bounds: { min: [-uMax * widest, -vMax * widest, zMin], max: [uMax * widest, vMax * widest, zMax] },
    async evaluate(points, values) {
      for (let i = 0, p = 0; i < values.length; i++, p += 3) {
        values[i] = density(points[p]!, points[p + 1]!, points[p + 2]!);
      }
    },
    ...(backColor && {
      async evaluateColors(points: Float32Array, colors: Float32Array) {
        for (let p = 0; p < points.length; p += 3) {
          const scale = 1 / ((camera.distance - points[p + 2]!) * halfTangent);
          for (let c = 0; c < 3; c++) {
            colors[p + c] = sampleBilinear(backColor, size, points[p]! * scale, -points[p + 1]! * scale, c * count);
          }
        }
      },
    }),
  };
}

const clamp = (value: number, low: number, high: number) => Math.min(Math.max(value, low), high);

/** Each row of each [size·size] plane from right to left. */
function mirrorRows(planes: Float32Array, size: number): Float32Array {
  const mirrored = planes.slice();
  for (let row = 0; row < mirrored.length; row += size) mirrored.subarray(row, row + size).reverse();
  return mirrored;
}

const mean = (a: Float32Array, b: Float32Array) => a.map((value, i) => (value + b[i]!) / 2);

/**
 * How much each pixel takes from its 3x3 neighbourhood, [9·S·S]: a bilateral filter whose range is a few voxels of depth.
 * It evens out the staircase that a network learns from voxels, and keeps the steps between parts.
 */
function smoothingWeights(depth: Float32Array, matte: Float32Array, size: number): Float32Array {
  const range = 0.08;
  const weights = new Float32Array(9 * size * size);
  for (let i = 0; i < depth.length; i++) {
    let total = 0;
    for (let n = 0; n < 9; n++) {
      const j = neighbour(i, n, size);
      const apart = (depth[j]! - depth[i]!) / range;
      weights[9 * i + n] = (0.02 + matte[j]!) * Math.exp(-apart * apart);
      total += weights[9 * i + n]!;
    }
    for (let n = 0; n < 9; n++) weights[9 * i + n]! /= total;
  }
  return weights;
}

/** The n-th pixel around i, itself among them; beyond the border, i again. */
function neighbour(i: number, n: number, size: number): number {
  const x = (i % size) + (n % 3) - 1;
  const y = Math.floor(i / size) + Math.floor(n / 3) - 1;
  return x < 0 || y < 0 || x >= size || y >= size ? i : y * size + x;
}

/** Each [S·S] plane filtered. Once: a second time would round what is meant to be sharp. */
function smoothed(planes: Float32Array, weights: Float32Array, size: number): Float32Array {
  const count = size * size;
  const around = Int32Array.from({ length: 9 * count }, (_, k) => neighbour(Math.floor(k / 9), k % 9, size));
  const filtered = new Float32Array(planes.length);
  for (let plane = 0; plane < planes.length; plane += count) {
    for (let i = 0; i < count; i++) {
      let sum = 0;
      for (let k = 9 * i; k < 9 * i + 9; k++) sum += weights[k]! * planes[plane + around[k]!]!;
      filtered[plane + i] = sum;
    }
  }
  return filtered;
}

/**
 * Adds one number, 0 to `mostBenefit`, to all logits [steps·C·C], so that as many steps inside the matte are occupied as the
 * graph's own answer expects, which is the sum of their probabilities.
 *
 * Where nobody can know how deep a thing is, as behind a flat front, each step alone is likelier empty than full. Step by
 * step the likeliest answer is then a sheet, which is seldom the answer for the whole thing.
 */
function withExpectedVolume(occupancy: Float32Array, matte: Float32Array): Float32Array {
  let missing = 0;
  const doubtful: number[] = [];
  for (let plane = 0; plane < occupancy.length; plane += matte.length) {
    for (let i = 0; i < matte.length; i++) {
      if (matte[i]! <= 0.5) continue;
      const logit = occupancy[plane + i]!;
      missing += 1 / (1 + Math.exp(-logit));
      if (logit > 0) missing -= 1;
      else if (logit > -mostBenefit) doubtful.push(logit);
    }
  }
  const nth = Math.round(missing);
  if (!(nth > 0)) return occupancy;
  const likeliest = Float32Array.from(doubtful).sort().reverse();
  const benefit = -(likeliest[nth - 1] ?? -mostBenefit);
  return occupancy.map((logit) => logit + benefit);
}

/**
 * Scales a depth map up to `outlineSize`, mixing only pixels inside the matte: a network's depth outside the object is
 * arbitrary, and mixing it in pulls the rim of the surface into a rubber sheet.
 */
function upsampleInside(depth: Float32Array, matte: Float32Array, size: number): Float32Array {
  const weight = matte.map((coverage) => (coverage > 0.5 ? 1 : 1e-4 + 0.01 * coverage));
  const weighted = depth.map((value, i) => value * weight[i]!);
  const scaled = new Float32Array(outlineSize * outlineSize);
  for (let y = 0; y < outlineSize; y++) {
    const v = ((y + 0.5) / outlineSize) * 2 - 1;
    for (let x = 0; x < outlineSize; x++) {
      const u = ((x + 0.5) / outlineSize) * 2 - 1;
      scaled[y * outlineSize + x] = sampleBilinear(weighted, size, u, v) / sampleBilinear(weight, size, u, v);
    }
  }
  return scaled;
}

/** The slab of normalised depth that anything occupied lies in, with a few steps of margin. */
function depthRange(
  frontDepth: Float32Array,
  occupancy: Float32Array,
  matte: Float32Array,
  size: number,
  steps: number,
): { near: number; far: number } {
  const count = size * size;
  // A thing may be thinner than a column, and cover none of them by much.
  const least = Math.min(0.2, 0.5 * matte.reduce((most, coverage) => Math.max(most, coverage), 0));
  let [near, far] = [1, -1];
  for (let i = 0; i < count; i++) {
    if (matte[i]! < least) continue;
    let last = minThicknessSteps;
    for (let k = steps - 1; k > last; k--) if (occupancy[k * count + i]! > 0) last = k;
    near = Math.min(near, frontDepth[i]!);
    far = Math.max(far, frontDepth[i]! + (2 * last) / steps);
  }
  const margin = 6 / steps;
  return { near: Math.max(near - margin, -1.2), far: Math.min(far + margin, 1.4) };
}

/** How far the matte reaches from the middle of the frame, in -1..1 coordinates, with two pixels of margin. */
function extentOf(matte: Float32Array, size: number): [u: number, v: number] {
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
