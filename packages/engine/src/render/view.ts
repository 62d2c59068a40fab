import { boxAround } from '../base/box.js';
import type { Camera } from '../base/camera.js';

/**
 * A pinhole camera anywhere in model space, and the size of its image in pixels.
 *
 * `rotation` has three rows, the camera's right, up and back axes in model space (it looks along minus the third).
 * `focalLength` and `principalPoint` are in pixels of a `width` x `height` image whose rows are from the top and whose
 * pixel [column, row] has its center at [column + 0.5, row + 0.5].
 */
export interface View {
  readonly width: number;
  readonly height: number;
  readonly eye: readonly [number, number, number];
  readonly rotation: readonly [number, number, number, number, number, number, number, number, number];
  readonly focalLength: number;
  readonly principalPoint: readonly [number, number];
}

/** Makes a view whose image is a square of `size` pixels with the view axis in its middle. */
export const squareView = (size: number, camera: Pick<View, 'eye' | 'rotation' | 'focalLength'>): View => ({
  ...camera,
  width: size,
  height: size,
  principalPoint: [size / 2, size / 2],
});

/** Makes the view of the photo's camera, as a square image of `size` pixels. Model space is the camera's own frame. */
export const photoView = ({ distance, halfTangent }: Camera, size: number): View =>
  squareView(size, {
    eye: [0, 0, distance],
    rotation: [1, 0, 0, 0, 1, 0, 0, 0, 1],
    focalLength: size / 2 / halfTangent,
  });

export interface OrbitOptions {
  readonly width: number;
  readonly height: number;
  /** The angle around the Y axis: 0 looks at the front (+Z), a quarter turn at the +X side. */
  readonly yawRadians: number;
  /** The angle above the horizon, between -pi/2 and pi/2. */
  readonly pitchRadians: number;
  /** The field of view along the image's shorter side. */
  readonly fovRadians: number;
  /** Share of the image kept free on each side, 0 .. 0.5. */
  readonly margin: number;
}

/**
 * Makes a view from any side of the model, so close that `positions` [3·V] fill the image up to its margin, centered.
 */
export function orbitView(positions: Float32Array, options: OrbitOptions): View {
  const { width, height, margin } = options;
  const rotation = orbitRotation(options.yawRadians, options.pitchRadians);
  const focalLength = Math.min(width, height) / 2 / Math.tan(options.fovRadians / 2);
  const { middle, radius } = ballAround(positions);
  const view = (distance: number, principalPoint: View['principalPoint']): View => {
    const along = (axis: 0 | 1 | 2) => middle[axis] + distance * rotation[6 + axis]!;
    return { width, height, rotation, focalLength, principalPoint, eye: [along(0), along(1), along(2)] };
  };

  // Perspective enlarges near parts, so the image of a centered object is off center. Moving the principal point
  // corrects that without turning the camera. It also leaves more room, so the distance is found by bisection.
  const [maxWidth, maxHeight] = [width * (1 - 2 * margin), height * (1 - 2 * margin)];
  let tooNear = radius;
  let farEnough = radius * (1 + (2 * focalLength) / Math.min(maxWidth, maxHeight));
  for (let step = 0; step < 16; step++) {
    const distance = (tooNear + farEnough) / 2;
    const { min, max } = boxAround(projectPoints(view(distance, [0, 0]), positions));
    if (max[0] - min[0] > maxWidth || max[1] - min[1] > maxHeight) tooNear = distance;
    else farEnough = distance;
  }
  const { min, max } = boxAround(projectPoints(view(farEnough, [0, 0]), positions));
  return view(farEnough, [(width - min[0] - max[0]) / 2, (height - min[1] - max[1]) / 2]);
}

/**
 * Returns the axes of a camera that sees the model from `yaw` around Y (0 is the front, +Z) and `pitch` above level.
 */
export function orbitRotation(yawRadians: number, pitchRadians: number): View['rotation'] {
  const [sinYaw, cosYaw] = [Math.sin(yawRadians), Math.cos(yawRadians)];
  const [sinPitch, cosPitch] = [Math.sin(pitchRadians), Math.cos(pitchRadians)];
  // biome-ignore format: a matrix reads by its rows
  return [
    cosYaw, 0, -sinYaw,
    -sinYaw * sinPitch, cosPitch, -cosYaw * sinPitch,
    sinYaw * cosPitch, sinPitch, cosYaw * cosPitch,
  ];
}

/**
 * Projects model-space points [3·N] into the image: x right and y DOWN in pixels, and the depth along the view axis in
 * model units (at most 0 behind the camera), as Float32Array [3·N].
 */
export function projectPoints(view: View, points: Float32Array): Float32Array {
  const { eye, rotation, focalLength, principalPoint } = view;
  const projected = new Float32Array(points.length);
  for (let i = 0; i < points.length; i += 3) {
    const x = points[i]! - eye[0];
    const y = points[i + 1]! - eye[1];
    const z = points[i + 2]! - eye[2];
    const depth = -(rotation[6] * x + rotation[7] * y + rotation[8] * z);
    const scale = focalLength / depth;
    projected[i] = principalPoint[0] + scale * (rotation[0] * x + rotation[1] * y + rotation[2] * z);
    projected[i + 1] = principalPoint[1] - scale * (rotation[3] * x + rotation[4] * y + rotation[5] * z);
    projected[i + 2] = depth;
  }
  return projected;
}

/** A ball that contains some points: the middle and half the diagonal of their bounding box. */
export interface Ball {
  readonly middle: readonly [number, number, number];
  readonly radius: number;
}

/** @param positions [3·N] */
export function ballAround(positions: Float32Array): Ball {
  const { min, max } = boxAround(positions);
  const half = (axis: 0 | 1 | 2) => (max[axis] - min[axis]) / 2;
  return {
    middle: [min[0] + half(0), min[1] + half(1), min[2] + half(2)],
    radius: Math.hypot(half(0), half(1), half(2)),
  };
}
