import { type Box, boxAround, extentOf } from '../base/box.js';
import type { Camera } from '../base/camera.js';
import type { Cutout } from '../base/image.js';
import { type CameralessField, colorsAt, type DensityField } from '../field/density-field.js';
import { sampleGrid } from '../field/sample-grid.js';
import { depthMap } from '../render/rasterize.js';
import { photoView } from '../render/view.js';
import { clean } from '../surface/clean.js';
import { marchingCubes } from '../surface/marching-cubes.js';
import { simplifyForDrawing } from '../surface/simplify.js';
import { gatherEvidence, mapSize, outlineAgreement } from './evidence.js';
import { findPose, type Pose, rotate } from './find-pose.js';

/** Cells along the longest side of the surface that is compared with the photo, and its triangles. */
const resolution = 56;
const drawnTriangles = 4000;

/** Cells kept free around that surface, because it may lack thin parts. */
const marginCells = 3;

export interface FitOptions {
  /** The camera that the publisher states, level and in front of the object. It is kept unless another fits better. */
  readonly published?: Camera | undefined;
  /** Whether the field is upright, however the photo was taken. Otherwise it may lean as the photo shows the object. */
  readonly upright: boolean;
  /** Whether the camera may be anywhere around the object, or only in front of it. */
  readonly anyYaw: boolean;
  /** The field that another reconstructor made of the same cutout. */
  readonly guide?: DensityField | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A field that may lean counts as upright if the photo's camera is at least this far above it. */
const clearlyAbove = (7.5 * Math.PI) / 180;

/**
 * Finds the camera of the photo: the angles, distance and aim for which the field's surface looks most like the photo.
 *
 * @returns the same field in the space of that camera. A field without a surface gets a camera that shows its box
 * @throws the signal's reason, once aborted
 */
export async function fitCamera(
  field: CameralessField,
  cutout: Cutout,
  { published, upright, anyYaw, guide, signal }: FitOptions,
): Promise<DensityField> {
  const grid = await sampleGrid(field, resolution, signal);
  const surface = clean(marchingCubes(grid, field.threshold));
  if (surface.indices.length === 0) {
    const camera = published ?? { distance: 3 * extentOf(field.bounds), halfTangent: 0.36 };
    return { ...field, camera, overlap: 0 };
  }
  const drawn = await simplifyForDrawing(surface, drawnTriangles);
  const evidence = await gatherEvidence(cutout, guide);
  const shape = { ...drawn, colors: await colorsAt(field, drawn.positions) };
  const pose = findPose(shape, evidence, { anyYaw, pitch: upright ? field.elevation?.radians : undefined, published });
  const positions = toCamera(surface.positions, pose);
  const overlap = outlineAgreement(
    depthMap({ ...surface, positions }, photoView(pose.camera, mapSize)).depth,
    evidence.outline,
  );
  const isPitched = upright || (!field.elevation && pose.pitch > clearlyAbove);
  const elevation = isPitched ? { radians: pose.pitch, spreadRadians: 0 } : field.elevation;
  if (pose.camera === published) return { ...field, camera: published, elevation, overlap };
  return { ...inCameraSpace(field, pose, boxAround(positions, marginCells * grid.cell)), elevation, overlap };
}

/** Rotates and moves the field to match the photo in the camera's view. */
function inCameraSpace(field: CameralessField, pose: Pose, bounds: Box): DensityField {
  const evaluateColors = field.evaluateColors?.bind(field);
  return {
    ...field,
    camera: pose.camera,
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
