import type { Cutout } from '../base/image.js';
import { predictionOf } from '../field/columns.js';
import type { ColumnsManifest, ColumnsPrediction } from '../field/columns-prediction.js';
import { matteChannel } from '../photo/frame.js';
import type { PlacedView } from './bend.js';
import { prepareView } from './prepared-view.js';
import type { SideCutout } from './several-photos.js';
import { pointOnRay, rotationOf, type ViewCamera } from './view-camera.js';

/** Returns the distance inside a shape, at most. Y is up. */
export type Shape = (x: number, y: number, z: number) => number;

const ball =
  (cx: number, cy: number, cz: number, radius: number): Shape =>
  (x, y, z) =>
    radius - Math.hypot(x - cx, y - cy, z - cz);
export const block =
  (cx: number, cy: number, cz: number, hx: number, hy: number, hz: number): Shape =>
  (x, y, z) =>
    Math.min(hx - Math.abs(x - cx), hy - Math.abs(y - cy), hz - Math.abs(z - cz));

/** Joins shapes. */
export const union =
  (...shapes: readonly Shape[]): Shape =>
  (x, y, z) =>
    Math.max(...shapes.map((shape) => shape(x, y, z)));

/** Looks different from each side: a body longer than wide, a head in front, and a pack on its right. */
export const toy = union(
  block(0, -0.1, -0.05, 0.2, 0.15, 0.4),
  ball(0, 0.15, 0.28, 0.17),
  block(0.24, -0.05, -0.2, 0.08, 0.08, 0.1),
);

/** Has nothing in common with the toy. */
export const tower = union(block(0, 0, 0, 0.12, 0.45, 0.12), block(0, 0.35, 0, 0.3, 0.05, 0.3));

const size = 64;
const steps = 96;
const manifest = {
  threshold: 0,
  camera: { distance: 2.1, fovDegrees: 32 },
  input: { size, foregroundRatio: 0.86 },
  decoder: { kind: 'columns', size, steps, halfWidth: 0.6, halfDepth: 1.5 },
} as unknown as ColumnsManifest;

const [distance, halfTangent] = [2, 0.3];
const degree = Math.PI / 180;

/** How many of the steps behind a front are occupied, as a network guesses of what it does not see. */
const guessedSteps = 22;

export interface Taken extends SideCutout {
  readonly prediction: ColumnsPrediction;
}

/** Takes a photo of a shape, as a camera at these angles in degrees shows it, and predicts its front without error. */
export function take(shape: Shape, side: SideCutout['side'], yaw: number, pitch: number): Taken {
  const rotation = rotationOf(yaw * degree, pitch * degree, 0);
  const relief = { reliefOffset: 0, reliefScale: 1, tiltU: 0, tiltV: 0 };
  const camera: ViewCamera = { ...{ rotation, x: 0, y: 0, distance, halfTangent }, ...relief };
  const fine = 128;
  const data = new Uint8Array(4 * fine * fine);
  const frontDepth = new Float32Array(size * size).fill(0);
  const point = new Float64Array(3);
  const frontAt = (u: number, v: number): number => {
    for (let z = 0.7; z > -0.7; z -= 0.006) {
      pointOnRay(camera, u, v, z, point);
      if (shape(point[0]!, point[1]!, point[2]!) > 0) return z;
    }
    return Number.NaN;
  };
  const at = (pixel: number, across: number) => ((pixel + 0.5) / across) * 2 - 1;
  for (let i = 0; i < fine * fine; i++) {
    const z = frontAt(at(i % fine, fine), at(Math.floor(i / fine), fine));
    // The colors tell the position, so that sides can be told apart.
    const color = Number.isNaN(z) ? [0, 0, 0, 0] : [...[...point].map((value) => 128 + 120 * value), 255];
    data.set(
      color.map((value) => Math.min(Math.max(value, 0), 255)),
      4 * i,
    );
  }
  for (let i = 0; i < size * size; i++) {
    const z = frontAt(at(i % size, size), at(Math.floor(i / size), size));
    frontDepth[i] = Number.isNaN(z) ? 0 : -z / 0.9;
  }
  const cutout: Cutout = { image: { width: fine, height: fine, data } };
  const occupancy = Float32Array.from({ length: steps * size * size }, (_, i) =>
    i < guessedSteps * size * size ? 3 : -3,
  );
  const raw = { frontDepth, occupancy, elevation: pitch * degree };
  const prediction = predictionOf(manifest, matteChannel(cutout, size), matteChannel(cutout, 256), raw);
  return { side, cutout: { ...cutout, window: { left: 0, top: 0, side: fine } }, photoWidth: fine, prediction };
}

/** Returns the photo of the same shape in one color. */
export function painted(photo: Taken, color: readonly number[]): Taken {
  const { image } = photo.cutout;
  const data = image.data.map((value, i) => color[i % 4] ?? value);
  return { ...photo, cutout: { ...photo.cutout, image: { ...image, data } } };
}

/** A view of a shape from an angle in degrees, whose camera was found at another angle, and is off by `y`. */
export function viewFrom(shape: Shape, side: SideCutout['side'], yaw: number, foundYaw = yaw, y = 0): PlacedView {
  const { cutout, photoWidth, prediction } = take(shape, side, yaw, 0);
  const relief = { reliefOffset: 0, reliefScale: 1, tiltU: 0, tiltV: 0 };
  const camera = { ...{ rotation: rotationOf(foundYaw * degree, 0, 0), x: 0, y, distance, halfTangent }, ...relief };
  return { view: prepareView(cutout, photoWidth, prediction), camera };
}

/** A network that predicts photos that were taken. */
export const predictTaken =
  (taken: readonly Taken[]) =>
  async (cutout: Cutout): Promise<ColumnsPrediction> =>
    taken.find((photo) => photo.cutout === cutout)!.prediction;
