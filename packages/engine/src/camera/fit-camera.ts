import { type Box, boxAround, extentOf } from '../base/box.js';
import type { Cutout } from '../base/image.js';
import type { CameralessField, DensityField } from '../field/density-field.js';
import { sampleGrid } from '../field/sample-grid.js';
import { clean } from '../surface/clean.js';
import { marchingCubes } from '../surface/marching-cubes.js';
import { simplifyForDrawing } from '../surface/simplify.js';
import { gatherEvidence } from './evidence.js';
import { findPose, type Pose, rotate } from './find-pose.js';

/** Cells along the longest side of the surface that is compared with the photo, and its triangles. */
const resolution = 56;
const drawnTriangles = 4000;

/** Cells kept free around that surface, because it may lack thin parts. */
const marginCells = 3;

export interface FitOptions {
  /** Whether the camera may be anywhere around the object, or only in front of it. */
  readonly anyYaw: boolean;
  /** Another reconstructor's field of the same cutout. */
  readonly guide?: DensityField | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Finds the camera of the photo for a field without one: the angles, distance and aim for which the field's surface
 * looks most like the photo.
 *
 * @returns the same field in the space of that camera. A field without a surface gets a camera that shows its box
 * @throws the signal's reason, once aborted
 */
export async function fitCamera(
  field: CameralessField,
  cutout: Cutout,
  { anyYaw, guide, signal }: FitOptions,
): Promise<DensityField> {
  const grid = await sampleGrid(field, resolution, signal);
  const surface = clean(marchingCubes(grid, field.threshold));
  if (surface.indices.length === 0) {
    return { ...field, camera: { distance: 3 * extentOf(field.bounds), halfTangent: 0.36 } };
  }
  const drawn = await simplifyForDrawing(surface, drawnTriangles);
  const pose = findPose(drawn, await gatherEvidence(cutout, guide), { anyYaw, pitch: field.elevation?.radians });
  return inCameraSpace(field, pose, boxAround(toCamera(surface.positions, pose), marginCells * grid.cell));
}

/** The field, rotated and moved to match the photo in the camera's view. */
function inCameraSpace(field: CameralessField, pose: Pose, bounds: Box): DensityField {
  const { camera, pitch } = pose;
  const evaluateColors = field.evaluateColors?.bind(field);
  return {
    ...field,
    camera,
    elevation: { radians: pitch, spreadRadians: 0 },
    bounds,
    evaluate: (points, density) => field.evaluate(toObject(points, pose), density),
    ...(evaluateColors && { evaluateColors: (points, colors) => evaluateColors(toObject(points, pose), colors) }),
  };
}

function toCamera(points: Float32Array, { rotation, shift }: Pose): Float32Array {
  const moved = rotate(points, rotation);
  for (let i = 0; i < moved.length; i += 3) {
    moved[i]! += shift[0];
    moved[i + 1]! += shift[1];
  }
  return moved;
}

function toObject(points: Float32Array, { rotation: r, shift }: Pose): Float32Array {
  const moved = points.slice();
  for (let i = 0; i < moved.length; i += 3) {
    moved[i]! -= shift[0];
    moved[i + 1]! -= shift[1];
  }
  return rotate(moved, [r[0], r[3], r[6], r[1], r[4], r[7], r[2], r[5], r[8]]);
}
