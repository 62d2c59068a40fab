import type { Camera } from './base/camera.js';
import type { Cutout } from './base/image.js';
import type { TriangleMesh } from './base/mesh.js';
import { type Box, type CameralessField, type DensityField, extentOf } from './field/density-field.js';
import { mattePlane } from './field/matte-plane.js';
import { sampleGrid } from './field/sample-grid.js';
import { rasterise } from './render/rasterise.js';
import { photoView } from './render/view.js';
import { marchingCubes } from './surface/marching-cubes.js';
import { tilt } from './surface/pose.js';

const degree = Math.PI / 180;

/** What a silhouette hardly tells from the distance; most of the field's models were trained on pictures of 40 degrees. */
const halfTangent = Math.tan(20 * degree);

/** Cells and pixels: coarse, as only the outline counts. */
const resolution = 56;
const pictureSize = 112;

/** Degrees that the camera may look down on the object, when the reconstructor does not say. */
const pitches = { lowest: -10, highest: 60, step: 5 };

/** Where a camera is found to stand: the object turned by `pitch` about X, then moved by `shift`, in front of `camera`. */
interface Fit {
  readonly pitch: number;
  readonly shift: readonly [number, number];
  readonly camera: Camera;
  /** Intersection over union of the outlines. */
  readonly agreement: number;
}

/**
 * Finds the camera of the photo for a field that was made without knowing one: how far above the object it was, how far
 * away, and aimed where, so that the outline of the field's surface agrees best with the matte.
 *
 * @returns the same field in the space of that camera. A field in which no surface is found gets a camera that sees its box
 */
export async function fitCamera(field: CameralessField, cutout: Cutout): Promise<DensityField> {
  const surface = marchingCubes(await sampleGrid(field, resolution), field.threshold);
  const extent = extentOf(field.bounds);
  if (surface.indices.length === 0) return { ...field, camera: { distance: 3 * extent, halfTangent } };
  const matte = mattePlane(cutout, pictureSize).map((coverage) => (coverage > 0.5 ? 1 : 0));
  const outline = boundsOf(matte);

  const fitted = (pitch: number): Fit => {
    const leant = leaning(surface.positions, pitch);
    const { camera, shift } = frameAs(leant, outline, extent);
    const positions = moved(leant, shift);
    return { pitch, shift, camera, agreement: agreementOf({ positions, indices: surface.indices }, camera, matte) };
  };
  const better = (a: Fit, b: Fit) => (b.agreement > a.agreement ? b : a);
  if (field.elevation) return inFrontOf(field, fitted(field.elevation.radians));
  let best = fitted(0);
  for (let pitch = pitches.lowest; pitch <= pitches.highest; pitch += pitches.step) {
    best = better(best, fitted(pitch * degree));
  }
  for (let reach = pitches.step / 2; reach >= 0.5; reach /= 2) {
    const { pitch } = best;
    best = better(better(best, fitted(pitch - reach * degree)), fitted(pitch + reach * degree));
  }
  return inFrontOf(field, best);
}

/** The field, turned and moved to where the camera sees it as the photo shows it. */
function inFrontOf(field: CameralessField, { pitch, shift, camera }: Fit): DensityField {
  const back = (points: Float32Array) => tilt(moved(points, [-shift[0], -shift[1]]), pitch);
  const { evaluateColors } = field;
  return {
    ...field,
    camera,
    elevation: { radians: pitch, spreadRadians: 0 },
    bounds: boundsAround(moved(leaning(cornersOf(field.bounds), pitch), shift)),
    evaluate: (points, density) => field.evaluate(back(points), density),
    ...(evaluateColors && { evaluateColors: (points, colors) => evaluateColors(back(points), colors) }),
  };
}

/** Upright points as a camera sees them that looks down by `pitch`: the way back from `pose`. */
const leaning = (points: Float32Array, pitch: number) => tilt(points, -pitch);

function moved(points: Float32Array, [right, up]: readonly [number, number]): Float32Array {
  const result = points.slice();
  for (let i = 0; i < points.length; i += 3) {
    result[i]! += right;
    result[i + 1]! += up;
  }
  return result;
}

/** -1..1 across the picture, v down. */
interface PictureBounds {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/**
 * The distance and the shift at which the points fill the same rectangle of the picture as the object in the photo.
 * Perspective makes it depend on itself; a few rounds settle it.
 */
function frameAs(points: Float32Array, wanted: PictureBounds, extent: number): Pick<Fit, 'camera' | 'shift'> {
  const wantedSize = Math.max(wanted.right - wanted.left, wanted.bottom - wanted.top);
  let distance = (2 * extent) / (wantedSize * halfTangent);
  let [right, up] = [0, 0];
  for (let round = 0; round < 8; round++) {
    const seen = { left: Infinity, right: -Infinity, top: Infinity, bottom: -Infinity };
    for (let i = 0; i < points.length; i += 3) {
      const scale = 1 / ((distance - points[i + 2]!) * halfTangent);
      const [u, v] = [(points[i]! + right) * scale, -(points[i + 1]! + up) * scale];
      seen.left = Math.min(seen.left, u);
      seen.right = Math.max(seen.right, u);
      seen.top = Math.min(seen.top, v);
      seen.bottom = Math.max(seen.bottom, v);
    }
    const size = Math.max(seen.right - seen.left, seen.bottom - seen.top);
    distance = Math.max((distance * size) / wantedSize, extent);
    const width = distance * halfTangent;
    right += ((wanted.left + wanted.right - seen.left - seen.right) / 2) * width;
    up -= ((wanted.top + wanted.bottom - seen.top - seen.bottom) / 2) * width;
  }
  return { camera: { distance, halfTangent }, shift: [right, up] };
}

function boundsOf(matte: Float32Array): PictureBounds {
  let [left, right, top, bottom] = [pictureSize, 0, pictureSize, 0];
  matte.forEach((covered, i) => {
    if (!covered) return;
    const [x, y] = [i % pictureSize, Math.floor(i / pictureSize)];
    [left, right] = [Math.min(left, x), Math.max(right, x + 1)];
    [top, bottom] = [Math.min(top, y), Math.max(bottom, y + 1)];
  });
  const place = (pixel: number) => (2 * pixel) / pictureSize - 1;
  return { left: place(left), right: place(right), top: place(top), bottom: place(bottom) };
}

function agreementOf(mesh: TriangleMesh, camera: Camera, matte: Float32Array): number {
  const { depth } = rasterise(mesh, photoView(camera, pictureSize));
  let [both, either] = [0, 0];
  for (let i = 0; i < matte.length; i++) {
    const seen = depth[i]! < Infinity;
    if (seen && matte[i]!) both++;
    if (seen || matte[i]!) either++;
  }
  return both / either;
}

/** The eight corners, [24]. */
function cornersOf({ min, max }: Box): Float32Array {
  return Float32Array.from({ length: 24 }, (_, i) => {
    const [corner, axis] = [Math.floor(i / 3), (i % 3) as 0 | 1 | 2];
    return ((corner >> axis) & 1 ? max : min)[axis];
  });
}

function boundsAround(points: Float32Array): Box {
  const [min, max] = [
    [Infinity, Infinity, Infinity],
    [-Infinity, -Infinity, -Infinity],
  ] as [[number, number, number], [number, number, number]];
  for (let i = 0; i < points.length; i++) {
    const axis = (i % 3) as 0 | 1 | 2;
    min[axis] = Math.min(min[axis], points[i]!);
    max[axis] = Math.max(max[axis], points[i]!);
  }
  return { min, max };
}
