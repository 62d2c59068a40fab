/**
 * A photo's camera in a space that several photos share, and how its relief lies in that space. A point X has the
 * position p = rotation · X + (x, y, 0) in the camera's frame: p.x right, p.y up, p.z toward the camera, which is at
 * [0, 0, distance]. The frame of the photo is |u|, |v| <= 1, where
 *
 *     u = p.x / ((distance - p.z) · halfTangent), v = -p.y / ((distance - p.z) · halfTangent)
 *
 * A network predicts depths only up to a scale, an offset and a tilt. The surface is at
 *
 *     p.z = reliefOffset + (front + tiltU · u + tiltV · v) · reliefScale
 */
export interface ViewCamera {
  /** Rows: the camera's right, up and back axes. */
  readonly rotation: Float64Array;
  readonly x: number;
  readonly y: number;
  readonly distance: number;
  readonly halfTangent: number;
  readonly reliefOffset: number;
  readonly reliefScale: number;
  readonly tiltU: number;
  readonly tiltV: number;
}

/** Returns the depth p.z of the relief at a position of the frame. @param front as the network predicts it */
export const reliefDepth = (camera: ViewCamera, front: number, u: number, v: number): number =>
  camera.reliefOffset + (front + camera.tiltU * u + camera.tiltV * v) * camera.reliefScale;

/** Writes the point at depth p.z = `z` on the ray of a position of the frame to `point`. */
export function pointOnRay(camera: ViewCamera, u: number, v: number, z: number, point: Float64Array): void {
  const { rotation } = camera;
  const scale = (camera.distance - z) * camera.halfTangent;
  const x = u * scale - camera.x;
  const y = -v * scale - camera.y;
  for (let axis = 0; axis < 3; axis++) {
    point[axis] = rotation[axis]! * x + rotation[3 + axis]! * y + rotation[6 + axis]! * z;
  }
}

/** Writes u, v, p.z and the scale of the frame there to `seen`. The scale is at most 0 behind the camera. */
export function seePoint(camera: ViewCamera, x: number, y: number, z: number, seen: Float64Array): void {
  const { rotation } = camera;
  const depth = rotation[6]! * x + rotation[7]! * y + rotation[8]! * z;
  const scale = (camera.distance - depth) * camera.halfTangent;
  seen[0] = (rotation[0]! * x + rotation[1]! * y + rotation[2]! * z + camera.x) / scale;
  seen[1] = -(rotation[3]! * x + rotation[4]! * y + rotation[5]! * z + camera.y) / scale;
  seen[2] = depth;
  seen[3] = scale;
}

/**
 * Returns the axes of an upright camera that was turned around Y by `yaw` (0 looks at +Z), then up by `pitch`, and then
 * counterclockwise by `roll`.
 */
export function rotationOf(yaw: number, pitch: number, roll: number): Float64Array {
  return multiply(rollMatrix(roll), multiply(pitchMatrix(pitch), yawMatrix(yaw)));
}

/** Returns the derivatives of `rotationOf` by yaw, pitch and roll. */
export function rotationSlopes([yaw, pitch, roll]: readonly number[]): Float64Array[] {
  const [turned, tilted, rolled] = [yawMatrix(yaw!), pitchMatrix(pitch!), rollMatrix(roll!)];
  return [
    multiply(rolled, multiply(tilted, slopeOf(yawMatrix, yaw!, 4))),
    multiply(rolled, multiply(slopeOf(pitchMatrix, pitch!, 0), turned)),
    multiply(slopeOf(rollMatrix, roll!, 8), multiply(tilted, turned)),
  ];
}

/** The derivative of a turn is a quarter turn more, without the element of the axis, which does not change. */
function slopeOf(matrix: (angle: number) => Float64Array, angle: number, axis: number): Float64Array {
  const slope = matrix(angle + Math.PI / 2);
  slope[axis] = 0;
  return slope;
}

// biome-ignore-start format: matrices read by their rows
const yawMatrix = (angle: number): Float64Array => {
  const [s, c] = [Math.sin(angle), Math.cos(angle)];
  return Float64Array.of(c, 0, -s, 0, 1, 0, s, 0, c);
};

const pitchMatrix = (angle: number): Float64Array => {
  const [s, c] = [Math.sin(angle), Math.cos(angle)];
  return Float64Array.of(1, 0, 0, 0, c, -s, 0, s, c);
};

const rollMatrix = (angle: number): Float64Array => {
  const [s, c] = [Math.sin(angle), Math.cos(angle)];
  return Float64Array.of(c, s, 0, -s, c, 0, 0, 0, 1);
};
// biome-ignore-end format: matrices read by their rows

/** Multiplies two matrices of three rows. */
export function multiply(a: Float64Array, b: Float64Array): Float64Array {
  const product = new Float64Array(9);
  for (let row = 0; row < 3; row++) {
    for (let column = 0; column < 3; column++) {
      product[3 * row + column] =
        a[3 * row]! * b[column]! + a[3 * row + 1]! * b[3 + column]! + a[3 * row + 2]! * b[6 + column]!;
    }
  }
  return product;
}

export const transpose = (m: Float64Array): Float64Array =>
  Float64Array.of(m[0]!, m[3]!, m[6]!, m[1]!, m[4]!, m[7]!, m[2]!, m[5]!, m[8]!);
