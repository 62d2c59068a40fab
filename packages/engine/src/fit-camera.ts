import type { Camera } from './base/camera.js';
import type { Cutout } from './base/image.js';
import type { TriangleMesh } from './base/mesh.js';
import { type Box, type CameralessField, type DensityField, extentOf } from './field/density-field.js';
import { sampleGrid } from './field/sample-grid.js';
import { matteChannel } from './photo/frame.js';
import { rasterize } from './render/rasterize.js';
import { photoView } from './render/view.js';
import { marchingCubes } from './surface/marching-cubes.js';
import { tilt } from './surface/pose.js';

const degree = Math.PI / 180;

/** A silhouette hardly distinguishes focal length from distance. Most published networks are trained on 40 degrees. */
const halfTangent = Math.tan(20 * degree);

/** Cells and pixels a side: coarse, since only the outline counts. */
const resolution = 56;
const imageSize = 112;

/** Degrees by which the camera may look down on the object, if the reconstructor does not estimate them. */
const pitches = { min: -10, max: 60, step: 5 };

/** A candidate: the object rotated by `pitch` about X, then moved by `shift`, in front of `camera`. */
interface Fit {
  readonly pitch: number;
  readonly shift: readonly [number, number];
  readonly camera: Camera;
  /** Intersection over union of the outlines. */
  readonly agreement: number;
}

/**
 * Finds the camera of the photo for a field without one: the pitch, distance and aim for which the outline of the
 * field's surface best agrees with the matte.
 *
 * @returns the same field in the space of that camera. A field without a surface gets a camera that shows its box
 */
export async function fitCamera(field: CameralessField, cutout: Cutout): Promise<DensityField> {
  const surface = marchingCubes(await sampleGrid(field, resolution), field.threshold);
  const extent = extentOf(field.bounds);
  if (surface.indices.length === 0) return { ...field, camera: { distance: 3 * extent, halfTangent } };
  const matte = matteChannel(cutout, imageSize).map((coverage) => (coverage > 0.5 ? 1 : 0));
  const outline = boundsOf(matte);

  const fitted = (pitch: number): Fit => {
    const rotated = tilt(surface.positions, -pitch);
    const { camera, shift } = frameTo(outline, rotated, extent);
    const positions = moved(rotated, shift);
    return { pitch, shift, camera, agreement: agreementOf({ positions, indices: surface.indices }, camera, matte) };
  };
  const better = (a: Fit, b: Fit) => (b.agreement > a.agreement ? b : a);
  if (field.elevation) return toCameraSpace(field, fitted(field.elevation.radians));
  let best = fitted(0);
  for (let pitch = pitches.min; pitch <= pitches.max; pitch += pitches.step) {
    best = better(best, fitted(pitch * degree));
  }
  for (let reach = pitches.step / 2; reach >= 0.5; reach /= 2) {
    const { pitch } = best;
    best = better(better(best, fitted(pitch - reach * degree)), fitted(pitch + reach * degree));
  }
  return toCameraSpace(field, best);
}

/** The field, rotated and moved so that the camera sees it as the photo shows it. */
function toCameraSpace(field: CameralessField, { pitch, shift, camera }: Fit): DensityField {
  const back = (points: Float32Array) => tilt(moved(points, [-shift[0], -shift[1]]), pitch);
  const { evaluateColors } = field;
  return {
    ...field,
    camera,
    elevation: { radians: pitch, spreadRadians: 0 },
    bounds: boundsAround(moved(tilt(cornersOf(field.bounds), -pitch), shift)),
    evaluate: (points, density) => field.evaluate(back(points), density),
    ...(evaluateColors && { evaluateColors: (points, colors) => evaluateColors(back(points), colors) }),
  };
}

function moved(points: Float32Array, [right, up]: readonly [number, number]): Float32Array {
  const result = points.slice();
  for (let i = 0; i < points.length; i += 3) {
    result[i]! += right;
    result[i + 1]! += up;
  }
  return result;
}

/** Bounds in the image, -1..1, v down. */
interface ImageBounds {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/**
 * The distance and the shift at which the points fill the wanted rectangle of the image. With perspective these depend
 * on each other, so they are found by a few rounds of iteration.
 */
function frameTo(wanted: ImageBounds, points: Float32Array, extent: number): Pick<Fit, 'camera' | 'shift'> {
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

function boundsOf(matte: Float32Array): ImageBounds {
  let [left, right, top, bottom] = [imageSize, 0, imageSize, 0];
  matte.forEach((covered, i) => {
    if (!covered) return;
    const [x, y] = [i % imageSize, Math.floor(i / imageSize)];
    [left, right] = [Math.min(left, x), Math.max(right, x + 1)];
    [top, bottom] = [Math.min(top, y), Math.max(bottom, y + 1)];
  });
  const position = (pixel: number) => (2 * pixel) / imageSize - 1;
  return { left: position(left), right: position(right), top: position(top), bottom: position(bottom) };
}

function agreementOf(mesh: TriangleMesh, camera: Camera, matte: Float32Array): number {
  const { depth } = rasterize(mesh, photoView(camera, imageSize));
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
