import { boxAround } from '../base/box.js';

/** Rows of three cubes around a cube, by their offset in y and z: the nearest rows first. */
const rowOffsets = [0, 0, -1, 0, 1, 0, 0, -1, 0, 1, -1, -1, 1, -1, -1, 1, 1, 1];

/**
 * Finds how far it is to the nearest of many points, quickly: the points are sorted into cubes of side `reach`, so the
 * three cubes of a row are one range of the sorted points.
 */
export class VertexGrid {
  readonly #reach: number;
  readonly #origin: readonly [number, number, number];
  /** Cubes along each axis, with an empty one at either end. */
  readonly #size: readonly [number, number, number];
  /** The points of cube c are those from `starts[c]` up to, but without, `starts[c + 1]`. */
  readonly #starts: Uint32Array;
  /** [3·N] */
  readonly #points: Float32Array;

  /** @param points [3·N], at least one */
  constructor(points: Float32Array, reach: number) {
    const { min, max } = boxAround(points);
    this.#reach = reach;
    this.#origin = [min[0] - reach, min[1] - reach, min[2] - reach];
    const cubesAlong = (axis: 0 | 1 | 2) => Math.floor((max[axis] - this.#origin[axis]) / reach) + 2;
    this.#size = [cubesAlong(0), cubesAlong(1), cubesAlong(2)];
    const [width, height, depth] = this.#size;
    const cubes = new Uint32Array(points.length / 3);
    this.#starts = new Uint32Array(width * height * depth + 1);
    for (let point = 0; point < cubes.length; point++) {
      const x = Math.floor((points[3 * point]! - this.#origin[0]) / reach);
      const y = Math.floor((points[3 * point + 1]! - this.#origin[1]) / reach);
      const z = Math.floor((points[3 * point + 2]! - this.#origin[2]) / reach);
      cubes[point] = x + width * (y + height * z);
      this.#starts[cubes[point]! + 1]!++;
    }
    for (let cube = 1; cube < this.#starts.length; cube++) this.#starts[cube]! += this.#starts[cube - 1]!;
    const next = this.#starts.slice();
    this.#points = new Float32Array(points.length);
    for (let point = 0; point < cubes.length; point++) {
      const to = 3 * next[cubes[point]!]!++;
      this.#points[to] = points[3 * point]!;
      this.#points[to + 1] = points[3 * point + 1]!;
      this.#points[to + 2] = points[3 * point + 2]!;
    }
  }

  /** Returns the distance from [x, y, z] to the nearest point, at most `reach`. */
  distanceTo(x: number, y: number, z: number): number {
    const reach = this.#reach;
    const [width, height, depth] = this.#size;
    const column = Math.floor((x - this.#origin[0]) / reach);
    const row = Math.floor((y - this.#origin[1]) / reach);
    const layer = Math.floor((z - this.#origin[2]) / reach);
    const first = Math.max(column - 1, 0);
    const last = Math.min(column + 1, width - 1);
    // Less than the distances to the sides of the cube, so that rounding never skips the nearest point.
    const inY = 0.999 * (y - this.#origin[1] - row * reach);
    const inZ = 0.999 * (z - this.#origin[2] - layer * reach);
    let squared = reach * reach;
    if (first > last) return reach;
    for (let n = 0; n < rowOffsets.length; n += 2) {
      const cubeY = row + rowOffsets[n]!;
      const cubeZ = layer + rowOffsets[n + 1]!;
      if (cubeY < 0 || cubeY >= height || cubeZ < 0 || cubeZ >= depth) continue;
      const gapY = cubeY < row ? inY : cubeY > row ? 0.999 * reach - inY : 0;
      const gapZ = cubeZ < layer ? inZ : cubeZ > layer ? 0.999 * reach - inZ : 0;
      if (gapY * gapY + gapZ * gapZ > squared) continue;
      const start = width * (cubeY + height * cubeZ);
      const end = 3 * this.#starts[start + last + 1]!;
      for (let at = 3 * this.#starts[start + first]!; at < end; at += 3) {
        const dx = this.#points[at]! - x;
        const dy = this.#points[at + 1]! - y;
        const dz = this.#points[at + 2]! - z;
        const away = dx * dx + dy * dy + dz * dz;
        if (away < squared) squared = away;
      }
    }
    return Math.sqrt(squared);
  }
}
