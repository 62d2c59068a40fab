/**
 * The photo's pinhole camera in the frame the field lives in: camera space, X right, Y up, the camera at
 * [0, 0, distance] looking along -Z at the origin. The framed cut-out is the square |x|,|y| <= 1 in normalised
 * coordinates; `halfTangent` is the tangent of half the cut-out's field of view.
 */
export interface Camera {
  readonly distance: number;
  readonly halfTangent: number;
}

/** Projects a camera-space point onto the cut-out: x right and y DOWN, each -1..1 inside the frame; depth is the distance along the view axis. */
export function project(camera: Camera, x: number, y: number, z: number): { u: number; v: number; depth: number } {
  const depth = camera.distance - z;
  const scale = 1 / (depth * camera.halfTangent);
  return { u: x * scale, v: -y * scale, depth };
}
