import { centerOf, mapSize } from './map.js';
import type { PreparedView } from './prepared-view.js';
import { rotationOf, type ViewCamera } from './view-camera.js';

// The cameras of N photos as one vector: `perView` numbers for each view, and one number for the lens of all. The first
// view is the front. Its yaw, position, size and depth are fixed, which places the shared space.

export const perView = 10;
/** Offsets within a view's numbers. Angles are in radians; SIZE and RELIEF are logarithms of a scale. */
export const [YAW, PITCH, ROLL, X, Y, SIZE, OFFSET, RELIEF, TILT_U, TILT_V] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] as const;

/** The position of the last number: the logarithm of the tangent of half the lens's field of view. */
export const lensOf = (parameters: ArrayLike<number>): number => parameters.length - 1;

const degree = Math.PI / 180;

// How far cameras may be from what is expected: standard deviations, from the report on 24 rendered objects.

/** Field of view of the whole photo: phones at arm's length have 50 to 65 degrees, and lenses for products 20 to 40. */
const usualLensDegrees = 40;
/** Of the logarithm of the lens. */
const lensSpread = 0.25;
/** Of the turn from the front to the side that a photo's label names. */
const yawSpread = 7 * degree;
/** Of the network's guess of the elevation. */
const pitchSpread = 4 * degree;
const rollSpread = 2 * degree;
/** Of the position of the object, in units of its space, in which it is about 1 long. */
const positionSpread = 0.3;
/** Of the logarithm of the photo's scale. */
const sizeSpread = 0.6;
/** Of the depth of the relief, in units of space. */
const offsetSpread = 0.6;
/** Of the logarithm of the relief's depth against its width. */
const reliefSpread = 0.2;
/** Of the tilt of the relief, in the network's units per unit of the frame. */
const tiltSpread = 0.06;

/** The expected values of the parameters, before photos are compared. */
export interface Priors {
  readonly mean: Float64Array;
  /** 0 for numbers that are fixed. */
  readonly spread: Float64Array;
}

/** @param yaws of the views, by their labels, in radians; 0 for the front */
export function priorsOf(views: readonly PreparedView[], yaws: readonly number[]): Priors {
  const mean = new Float64Array(perView * views.length + 1);
  const spread = new Float64Array(mean.length);
  views.forEach((view, i) => {
    const isFront = i === 0;
    mean[perView * i + YAW] = yaws[i]!;
    mean[perView * i + PITCH] = view.elevationRadians;
    const placed = isFront ? [0, 0, 0, 0] : [positionSpread, positionSpread, sizeSpread, offsetSpread];
    const angles = [isFront ? 0 : yawSpread, pitchSpread, rollSpread];
    spread.set([...angles, ...placed, reliefSpread, tiltSpread, tiltSpread], perView * i);
  });
  mean[lensOf(mean)] = Math.log(Math.tan((usualLensDegrees / 2) * degree));
  spread[lensOf(mean)] = lensSpread;
  return { mean, spread };
}

/** A number's contribution to the cost, and its weight in the normal equations. */
export function priorCost(parameter: number, deviations: number): { cost: number; weight: number } {
  const squared = deviations * deviations;
  // The network's guesses of elevations have outliers, but are seldom off by more than 20 degrees. Without the second
  // part of the cost, a teapot's camera was placed 30 degrees too high.
  if (parameter === PITCH) {
    return { cost: 2 * Math.log(1 + squared / 2) + squared / 1.5, weight: 1 / (1 + squared / 2) + 1 / 1.5 };
  }
  // Steep beyond three standard deviations, because the colors of a cube fit each of its faces.
  if (parameter === YAW) return { cost: squared + squared ** 3 / 200, weight: 1 + (3 * squared * squared) / 200 };
  return { cost: squared, weight: 1 };
}

/** The name of a number, by its position. */
export const parameterAt = (position: number, count: number): number =>
  position === count - 1 ? -1 : position % perView;

/** The cameras at the priors' means, where all predicted heights are equal, and all middles meet. */
export function startAt(views: readonly PreparedView[], { mean }: Priors): Float64Array {
  const start = mean.slice();
  const heights = views.map((view, i) => heightOf(view, start[perView * i + PITCH]!));
  views.forEach((view, i) => {
    const size = i === 0 ? 0 : Math.log(heights[0]! / heights[i]!);
    start[perView * i + SIZE] = size;
    start[perView * i + OFFSET] = -middleOf(view) * Math.exp(size);
  });
  return start;
}

export function cameraOf({ halfWidth, crop }: PreparedView, parameters: Float64Array, first: number): ViewCamera {
  const size = halfWidth * Math.exp(parameters[first + SIZE]!);
  const halfTangent = Math.exp(parameters[lensOf(parameters)]!) * crop;
  return {
    rotation: rotationOf(parameters[first + YAW]!, parameters[first + PITCH]!, parameters[first + ROLL]!),
    ...{ x: parameters[first + X]!, y: parameters[first + Y]!, halfTangent, distance: size / halfTangent },
    reliefOffset: parameters[first + OFFSET]!,
    reliefScale: Math.exp(parameters[first + SIZE]! - parameters[first + RELIEF]!),
    ...{ tiltU: parameters[first + TILT_U]!, tiltV: parameters[first + TILT_V]! },
  };
}

export const camerasOf = (views: readonly PreparedView[], parameters: Float64Array): ViewCamera[] =>
  views.map((view, i) => cameraOf(view, parameters, perView * i));

/** The middle of the depth that the network predicts, in its units. */
function middleOf({ front, back, outline }: PreparedView): number {
  const fronts: number[] = [];
  const backs: number[] = [];
  for (let i = 0; i < outline.length; i += 5) {
    if (outline[i]! <= 0.01) continue;
    fronts.push(front[i]!);
    backs.push(back[i]!);
  }
  return (quantile(fronts, 0.97) + quantile(backs, 0.03)) / 2;
}

/** The height of the predicted object if the camera looked down by `pitch`, in the network's units. */
function heightOf({ front, back, outline, halfWidth, prediction }: PreparedView, pitch: number): number {
  const [sin, cos] = [Math.sin(pitch), Math.cos(pitch)];
  const { distance } = prediction.manifest.camera;
  const heights: number[] = [];
  for (let i = 0; i < outline.length; i += 5) {
    if (outline[i]! <= 0) continue;
    const v = centerOf(Math.floor(i / mapSize), mapSize);
    for (const z of [front[i]!, back[i]!]) {
      heights.push(cos * -v * halfWidth * (1 - z / distance) + sin * z);
    }
  }
  return Math.max(quantile(heights, 0.995) - quantile(heights, 0.005), 1e-3);
}

function quantile(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.floor(share * sorted.length)] ?? 0;
}
