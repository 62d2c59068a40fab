import type { Camera } from '../base/camera.js';
import { smoothStep } from '../base/interpolation.js';
import { type DepthMap, visibleShare } from '../render/rasterize.js';
import type { MirrorPlane } from '../surface/mirror.js';

/** The positions of surface points in the photo, and how well it shows them. */
export interface ProjectedPoints {
  /** [N] position in the photo's frame, 0..1 from the left and the top. Not updated where the surface is edge-on. */
  readonly x: Float64Array;
  readonly y: Float64Array;
  /** [N] visibility in the photo: 0 hidden or edge-on, 1 fully visible. */
  readonly seen: Float64Array;
  /** [N] how directly the surface faces away from the camera, 0..1. */
  readonly away: Float64Array;
  /** [N] cosine of the angle between the surface and the ray to the camera. */
  readonly cosine: Float64Array;
}

/** Where a camera is in the space of the mesh: it sees the point p at rotation · p + (x, y, 0) in its own frame. */
export interface Placement {
  readonly rotation: Float64Array;
  readonly x: number;
  readonly y: number;
}

const ownPlacement: Placement = { rotation: Float64Array.of(1, 0, 0, 0, 1, 0, 0, 0, 1), x: 0, y: 0 };

export const projectedPoints = (count: number): ProjectedPoints => ({
  x: new Float64Array(count),
  y: new Float64Array(count),
  seen: new Float64Array(count),
  away: new Float64Array(count),
  cosine: new Float64Array(count),
});

/** Projects points of the surface into the photo. */
export class PhotoProjection {
  readonly #camera: Camera;
  readonly #map: DepthMap;
  readonly #bias: number;
  readonly #mirror: MirrorPlane | undefined;
  readonly #placement: Placement;

  /**
   * @param map the depths that the photo's camera sees
   * @param bias a point this far behind the nearest surface, in model units, still counts as visible
   * @param mirror if given, points are reflected across it first: the photo shows them on the other side
   * @param placement default: that of the camera in whose space the mesh is
   */
  constructor(camera: Camera, map: DepthMap, bias: number, mirror?: MirrorPlane, placement = ownPlacement) {
    this.#camera = camera;
    this.#map = map;
    this.#bias = bias;
    this.#mirror = mirror;
    this.#placement = placement;
  }

  /**
   * Projects the first `count` points. It takes many at a time, because V8 allocates memory for each number that is
   * passed to a function.
   *
   * @param points [3·N] @param normals [3·N], which may be slightly shorter than 1
   * @param rest [N] skips the points that have none left to paint
   */
  project(
    points: Float64Array,
    normals: Float64Array,
    count: number,
    projected: ProjectedPoints,
    rest?: Float64Array,
  ): void {
    const { distance, halfTangent } = this.#camera;
    const map = this.#map;
    const bias = this.#bias;
    const mirror = this.#mirror;
    const { rotation, x: right, y: up } = this.#placement;
    const [eyeX, eyeY, eyeZ] = eyeOf(this.#placement, distance);
    for (let i = 0; i < count; i++) {
      if (rest?.[i] === 0) continue;
      let x = points[3 * i]!;
      let y = points[3 * i + 1]!;
      let z = points[3 * i + 2]!;
      let nx = normals[3 * i]!;
      let ny = normals[3 * i + 1]!;
      let nz = normals[3 * i + 2]!;
      if (mirror) {
        const [mx, my, mz] = mirror.normal;
        const across = 2 * (mx * x + my * y + mz * z - mirror.offset);
        const turn = 2 * (mx * nx + my * ny + mz * nz);
        x -= across * mx;
        y -= across * my;
        z -= across * mz;
        nx -= turn * mx;
        ny -= turn * my;
        nz -= turn * mz;
      }
      const toX = eyeX - x;
      const toY = eyeY - y;
      const toZ = eyeZ - z;
      const cosine = (nz * toZ + nx * toX + ny * toY) / Math.sqrt(toX * toX + toY * toY + toZ * toZ);
      const facing = smoothStep(0.12, 0.4, cosine);
      const away = smoothStep(0.25, 0.65, -cosine);
      projected.seen[i] = 0;
      projected.cosine[i] = cosine;
      projected.away[i] = away;
      // A photo shows nothing of a surface that it sees edge-on.
      if (facing === 0 && away === 0) continue;
      const depth = distance - (rotation[6]! * x + rotation[7]! * y + rotation[8]! * z);
      const scale = 2 * halfTangent * depth;
      const column = 0.5 + (rotation[0]! * x + rotation[1]! * y + rotation[2]! * z + right) / scale;
      const row = 0.5 - (rotation[3]! * x + rotation[4]! * y + rotation[5]! * z + up) / scale;
      projected.x[i] = column;
      projected.y[i] = row;
      if (facing > 0)
        projected.seen[i] = facing * visibleShare(map, column * map.width, row * map.height, depth - bias);
    }
  }
}

/** Returns where a camera is in the space of the mesh. */
export function eyeOf({ rotation, x, y }: Placement, distance: number): [number, number, number] {
  const along = (axis: number) => distance * rotation[6 + axis]! - x * rotation[axis]! - y * rotation[3 + axis]!;
  return [along(0), along(1), along(2)];
}
