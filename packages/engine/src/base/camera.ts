/**
 * Describes the photo's pinhole camera in camera space: X points right, Y up, the camera at [0, 0, distance] looking
 * along -Z at the origin. The framed cutout is the square |x|,|y| <= 1 in normalized coordinates; `halfTangent` is the
 * tangent of half the cutout's field of view.
 */
export interface Camera {
  readonly distance: number;
  readonly halfTangent: number;
}

/** Returns the scale of the frame at a depth: units of camera space per unit of normalized coordinates. */
export const frameScale = ({ distance, halfTangent }: Camera, z: number): number => (distance - z) * halfTangent;
