import { type Camera, frameScale } from '../../../base/camera.js';
import { type Edge, hullOf, type Position } from '../../../base/convex-hull.js';

export type Vector = readonly [number, number, number];

/** A cuboid, and the camera in which its outline is the photo's. */
export interface Cuboid {
  readonly camera: Camera;
  readonly center: Vector;
  /** Its own x, y and z axes in camera space. */
  readonly axes: readonly Vector[];
  /** Half its width, height and depth. */
  readonly half: Vector;
}

/** Densities per unit of camera space, about as steep as the network's. */
export const slope = 60;

/** The axes of an object that is turned, seen from above and tilted by these angles, in radians. */
export function axesAt(yaw: number, pitch: number, roll: number): Vector[] {
  const turned = (x: number, y: number, z: number): Vector => {
    const lifted = Math.cos(pitch) * y - Math.sin(pitch) * z;
    return [
      Math.cos(roll) * x - Math.sin(roll) * lifted,
      Math.sin(roll) * x + Math.cos(roll) * lifted,
      Math.cos(pitch) * z + Math.sin(pitch) * y,
    ];
  };
  const [sin, cos] = [Math.sin(yaw), Math.cos(yaw)];
  return [turned(cos, 0, -sin), turned(0, 1, 0), turned(sin, 0, cos)];
}

/** The outline in the photo: the convex hull of the corners. */
export function outlineOf(cuboid: Cuboid): Edge[] {
  const corners = cornersOf(cuboid).map(([x, y, z]): Position => {
    const scale = 1 / frameScale(cuboid.camera, z);
    return [x * scale, -y * scale];
  });
  return hullOf(corners);
}

export function cornersOf({ center, axes, half }: Cuboid): Vector[] {
  return Array.from({ length: 8 }, (_, corner) => {
    const at = [0, 1, 2].map((c) =>
      axes.reduce((sum, axis, i) => sum + (corner & (1 << i) ? 1 : -1) * half[i]! * axis[c]!, center[c]!),
    );
    return at as [number, number, number];
  });
}

/** The density of a cuboid with rounded edges, positive inside. */
export function densityOf({ center, axes, half }: Cuboid, edgeRadius: number, x: number, y: number, z: number): number {
  const rounding = Math.min(edgeRadius, ...half);
  let [outside, nearest] = [0, -Infinity];
  for (let a = 0; a < 3; a++) {
    const axis = axes[a]!;
    const along = (x - center[0]) * axis[0] + (y - center[1]) * axis[1] + (z - center[2]) * axis[2];
    const beyond = Math.abs(along) - half[a]! + rounding;
    outside += Math.max(beyond, 0) ** 2;
    nearest = Math.max(nearest, beyond);
  }
  return slope * (rounding - Math.sqrt(outside) - Math.min(nearest, 0));
}

export const dot = (a: Vector, b: Vector) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
