import type { Box } from '../base/box.js';
import { type Camera, frameScale } from '../base/camera.js';
import type { Cutout } from '../base/image.js';
import { clamp, sampleSquare, smoothMin } from '../base/interpolation.js';
import type { Bundle } from '../bundle/load-bundle.js';
import { openEncoder, type Session } from '../network/session.js';
import { matteChannel, toInput } from '../photo/frame.js';
import { bilateralFilter } from './bilateral-filter.js';
import type { ColumnsDecoder, ColumnsManifest, ColumnsPrediction } from './columns-prediction.js';
import type { DecoderKind } from './decoder-kind.js';
import { type DensityField, evaluateEach, learnedElevation } from './density-field.js';
import { signedDistance } from './distance-transform.js';
import { sampleFront, upsampleInside, withoutRamps } from './front-depth.js';
import { findSolid } from './solids/find-solid.js';
import { type Density, frontOf, type Outline } from './solids/solid.js';
import { widenThinParts } from './thin-parts.js';

/**
 * Pixels a side of the outline and of the front's depth: finer than any network's, so that the silhouette is the
 * photo's.
 */
export const outlineSize = 256;

/**
 * Visible parts are at least this thick, as a share of the depth of the box. Otherwise thin parts break up where the
 * network is uncertain.
 */
const minThickness = 1.5 / 64;

/** Maximum added to logits to reach the expected volume: a step less probable than one in eight stays empty. */
const maxLogitBonus = 2;

/** Width, in logits, of the rounded seam where the front, the back and the outline meet. */
const seamRounding = 1.2;

export const columnsKind: DecoderKind = {
  inSteps: false,
  carved: false,
  anyYaw: false,
  async open(bundle: Bundle<ColumnsManifest>, open) {
    const session = await openEncoder(bundle, open);
    const predict = (cutout: Cutout) => predictColumns(bundle, session, cutout);
    return {
      encode: async (cutout) => columnsField(await predict(cutout)),
      predict,
      release: () => session.release(),
    };
  },
  async exercise(bundle, open, image, run) {
    const session = await openEncoder(bundle, open);
    await run(session, image).finally(() => session.release());
  },
};

/**
 * Runs a `columns` encoder on a framed cutout. The field of its outputs is empty in front of the predicted front and
 * outside the matte, and as the occupancy says behind the front.
 *
 * The network runs twice, on the image and on its mirror image, and the outputs are averaged: its errors are not
 * symmetric, and most objects nearly are.
 */
async function predictColumns(
  { manifest }: Bundle<ColumnsManifest>,
  session: Session,
  cutout: Cutout,
): Promise<ColumnsPrediction> {
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
  return predictionOf(manifest, matteChannel(cutout, size), matteChannel(cutout, outlineSize), {
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

/**
 * Combines what the network says of the front, of each step behind it, and of the outline. Inside is above 0.
 *
 * @param front [outlineSize·outlineSize]
 * @param occupancy [steps·size·size]
 */
function predictedDensity(
  { steps, halfWidth, halfDepth }: ColumnsDecoder,
  front: Float32Array,
  occupancy: Float32Array,
  size: number,
  outline: Outline,
): Density {
  const count = size * size;
  return (x, y, z) => {
    const k = 1 / frameScale(outline.camera, z);
    const [u, v] = [x * k, -y * k];
    const silhouette = outline.densityAt(u, v);
    if (silhouette <= -3) return -3;
    const behind = ((-z / (halfWidth * halfDepth) - sampleFront(front, outlineSize, u, v)) * steps) / 2;
    const step = clamp(behind, 0, steps - 1);
    const nearer = Math.min(Math.floor(step), steps - 2);
    const near = sampleSquare(occupancy, size, u, v, nearer * count);
    const far = sampleSquare(occupancy, size, u, v, (nearer + 1) * count);
    let inside = clamp(near + (far - near) * (step - nearer), -6, 6);
    // At least the seam's width, or its rounding would cut a rim off the visible surface.
    if (behind < minThickness * steps) inside = Math.max(inside, seamRounding);
    return smoothMin(smoothMin(1.5 * clamp(behind, -4, 4), inside, seamRounding), silhouette, seamRounding);
  };
}

/** Cleans a network's outputs. `coarseMatte` is [C·C], `fineMatte` [outlineSize·outlineSize]. */
export function predictionOf(
  manifest: ColumnsManifest,
  coarseMatte: Float32Array,
  fineMatte: Float32Array,
  raw: Columns,
): ColumnsPrediction {
  const size = columnsAcross(manifest);
  const smoothed = bilateralFilter(raw.frontDepth, coarseMatte, size);
  const frontDepth = withoutRamps(smoothed(raw.frontDepth), coarseMatte, size);
  const occupancy = smoothed(raw.occupancy);
  addExpectedVolume(occupancy, coarseMatte);
  const photographed = signedDistance(fineMatte, outlineSize);
  return {
    ...{ manifest, size, coarseMatte, fineMatte, frontDepth, occupancy, photographed },
    front: upsampleInside(frontDepth, coarseMatte, size, outlineSize),
    backColor: raw.backColor && smoothed(raw.backColor),
    elevationRadians: raw.elevation,
    widened: widenThinParts(photographed, fineMatte, outlineSize),
  };
}

/** The outline of a photo, as a camera at [0, 0, distance] sees it. */
export function outlineOf({ widened, photographed, size }: ColumnsPrediction, camera: Camera): Outline {
  const inside = (distances: Float32Array) => (u: number, v: number) =>
    (sampleSquare(distances, outlineSize, u, v) * 2) / outlineSize;
  const insideWidened = inside(widened);
  return {
    camera,
    // About the slope of the network's own occupancy across an edge: one logit per pixel of the network.
    densityAt: (u, v) => clamp((insideWidened(u, v) * size) / 2, -3, 3),
    // Solids are fitted to this outline. A wire that was widened would make a crate below it too tall.
    distanceInside: inside(photographed),
  };
}

/** Makes the field of one photo. */
export function columnsField(prediction: ColumnsPrediction): DensityField {
  const { manifest, size, coarseMatte, frontDepth, front, occupancy, backColor, elevationRadians } = prediction;
  const { decoder, threshold } = manifest;
  const { distance } = manifest.camera;
  const outline = outlineOf(prediction, { distance, halfTangent: decoder.halfWidth / distance });
  const predicted = predictedDensity(decoder, front, occupancy, size, outline);
  const { near, far } = depthRange(frontDepth, occupancy, coarseMatte, size, decoder.steps);
  const halfDepth = decoder.halfWidth * decoder.halfDepth;
  const [zMax, zMin] = [-near * halfDepth, -far * halfDepth];
  const [uMax, vMax] = reachOf(coarseMatte, size);
  const widest = frameScale(outline.camera, zMin);
  const bounds: Box = {
    min: [-uMax * widest, -vMax * widest, zMin],
    max: [uMax * widest, vMax * widest, zMax],
  };
  const solid =
    elevationRadians === undefined
      ? undefined
      : findSolid(outline, frontOf(predicted, outline, bounds, elevationRadians));
  const shape = solid ?? {
    ...{ density: predicted, camera: outline.camera, bounds, rollRadians: 0, completedAs: undefined },
    elevation: elevationRadians === undefined ? undefined : learnedElevation(elevationRadians),
  };
  return {
    threshold,
    camera: shape.camera,
    elevation: shape.elevation,
    rollRadians: shape.rollRadians,
    // The cross section of a solid of revolution is made of the outline's pixels.
    projects: shape.completedAs === 'cuboid',
    bumpyBehind: !solid,
    completedAs: shape.completedAs,
    bounds: shape.bounds,
    evaluate: evaluateEach(shape.density),
    ...(backColor && {
      colorsRepeatFront: true,
      async evaluateColors(points: Float32Array, colors: Float32Array) {
        for (let p = 0; p < points.length; p += 3) {
          const k = 1 / frameScale(shape.camera, points[p + 2]!);
          for (let c = 0; c < 3; c++) {
            colors[p + c] = sampleSquare(backColor, size, points[p]! * k, -points[p + 1]! * k, c * size * size);
          }
        }
      },
    }),
  };
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
