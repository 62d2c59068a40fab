import type { Camera } from '../base/camera.js';
import { smoothStep } from '../base/interpolation.js';
import { type DepthMap, visibleShare } from '../render/rasterize.js';
import type { MirrorPlane } from '../surface/mirror.js';

/**
 * Where the photo shows a point of the surface, and how well.
 *
 * `project` writes its result to the fields, because allocating one for each of a million texels takes longer than
 * computing it.
 */
export class PhotoProjection {
  /** Position in the photo's frame, 0..1 from the left and from the top. */
  x = 0;
  y = 0;
  /** Visibility in the photo: 0 hidden or edge-on, 1 fully visible. */
  seen = 0;
  /** How directly the surface faces away from the camera, 0..1. */
  away = 0;

  readonly #camera: Camera;
  readonly #map: DepthMap;
  readonly #bias: number;
  readonly #mirror: MirrorPlane | undefined;

  /**
   * @param map the depths that the photo's camera sees
   * @param bias a point this far behind the nearest surface, in model units, still counts as visible
   * @param mirror if given, points are reflected across it first: the photo shows them on the other side
   */
  constructor(camera: Camera, map: DepthMap, bias: number, mirror?: MirrorPlane) {
    this.#camera = camera;
    this.#map = map;
    this.#bias = bias;
    this.#mirror = mirror;
  }

  /** Projects a point [x, y, z] of the surface. Its normal [nx, ny, nz] may be slightly shorter than 1. */
  project(x: number, y: number, z: number, nx: number, ny: number, nz: number): void {
    if (!this.#mirror) {
      this.#projectSeen(x, y, z, nx, ny, nz);
      return;
    }
    const [mx, my, mz] = this.#mirror.normal;
    const distance = 2 * (mx * x + my * y + mz * z - this.#mirror.offset);
    const turn = 2 * (mx * nx + my * ny + mz * nz);
    this.#projectSeen(
      x - distance * mx,
      y - distance * my,
      z - distance * mz,
      nx - turn * mx,
      ny - turn * my,
      nz - turn * mz,
    );
  }

  #projectSeen(x: number, y: number, z: number, nx: number, ny: number, nz: number): void {
    const { distance, halfTangent } = this.#camera;
    const depth = distance - z;
    const cosine = (nz * depth - nx * x - ny * y) / Math.sqrt(x * x + y * y + depth * depth);
    this.x = 0.5 + x / (2 * halfTangent * depth);
    this.y = 0.5 - y / (2 * halfTangent * depth);
    const facing = smoothStep(0.12, 0.4, cosine);
    const { width, height } = this.#map;
    this.seen = facing > 0 ? facing * visibleShare(this.#map, this.x * width, this.y * height, depth - this.#bias) : 0;
    this.away = smoothStep(0.25, 0.65, -cosine);
  }
}
