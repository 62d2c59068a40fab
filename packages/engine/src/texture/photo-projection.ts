import type { Camera } from '../base/camera.js';
import { smoothStep } from '../base/interpolation.js';
import { type DepthMap, visibleShare } from '../render/rasterize.js';
import type { MirrorPlane } from '../surface/mirror.js';

/** The positions of surface points in the photo, and how well it shows them. */
export interface ProjectedPoints {
  /** [N] position in the photo's frame, 0..1 from the left and from the top. */
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
  readonly #placement: Placement | undefined;

  /**
   * @param map the depths that the photo's camera sees
   * @param bias a point this far behind the nearest surface, in model units, still counts as visible
   * @param mirror if given, points are reflected across it first: the photo shows them on the other side
   * @param placement of a camera that is not the one in whose space the mesh is
   */
  constructor(camera: Camera, map: DepthMap, bias: number, mirror?: MirrorPlane, placement?: Placement) {
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
    const [mx, my, mz] = this.#mirror?.normal ?? [0, 0, 0];
    const offset = this.#mirror?.offset ?? 0;
    const { rotation, x: right, y: up } = this.#placement ?? { rotation: undefined, x: 0, y: 0 };
    for (let i = 0; i < count; i++) {
      if (rest?.[i] === 0) continue;
      let x = points[3 * i]!;
      let y = points[3 * i + 1]!;
      let z = points[3 * i + 2]!;
      let nx = normals[3 * i]!;
      let ny = normals[3 * i + 1]!;
      let nz = normals[3 * i + 2]!;
      const across = 2 * (mx * x + my * y + mz * z - offset);
      const turn = 2 * (mx * nx + my * ny + mz * nz);
      x -= across * mx;
      y -= across * my;
      z -= across * mz;
      nx -= turn * mx;
      ny -= turn * my;
      nz -= turn * mz;
      if (rotation) {
        const px = x;
        const py = y;
        const pz = z;
        x = rotation[0]! * px + rotation[1]! * py + rotation[2]! * pz + right;
        y = rotation[3]! * px + rotation[4]! * py + rotation[5]! * pz + up;
        z = rotation[6]! * px + rotation[7]! * py + rotation[8]! * pz;
        const qx = nx;
        const qy = ny;
        const qz = nz;
        nx = rotation[0]! * qx + rotation[1]! * qy + rotation[2]! * qz;
        ny = rotation[3]! * qx + rotation[4]! * qy + rotation[5]! * qz;
        nz = rotation[6]! * qx + rotation[7]! * qy + rotation[8]! * qz;
      }
      const depth = distance - z;
      const cosine = (nz * depth - nx * x - ny * y) / Math.sqrt(x * x + y * y + depth * depth);
      const column = 0.5 + x / (2 * halfTangent * depth);
      const row = 0.5 - y / (2 * halfTangent * depth);
      const facing = smoothStep(0.12, 0.4, cosine);
      projected.x[i] = column;
      projected.y[i] = row;
      projected.seen[i] =
        facing > 0 ? facing * visibleShare(map, column * map.width, row * map.height, depth - bias) : 0;
      projected.cosine[i] = cosine;
      projected.away[i] = smoothStep(0.25, 0.65, -cosine);
    }
  }
}
