import type { Camera } from '../base/camera.js';
import type { TriangleMesh } from '../base/mesh.js';
import type { ScalarGrid } from '../base/scalar-grid.js';
import { connectedParts, type Parts, partLengths, partVolumes } from './clean.js';

type Point = readonly [x: number, y: number, z: number];

/** Longest rod, as a share of the grid's longest side: a leg that ends farther from its seat may belong elsewhere. */
const maxGap = 0.06;

/** Thinnest and thickest rod, in cells: as thick as the part it holds, but never so thin that smoothing tears it. */
const [minRadius, maxRadius] = [1.5, 3];

/** Maximum vertices of a part that are compared: a few thousand are dense enough to find a gap. */
const maxVertices = 4096;

/**
 * Joins loose parts to the largest part, such as the rear leg of a chair that the network put a little too far behind
 * the seat. Writes a rod into the grid for each, along the shortest gap that the photo does not show: what it shows as
 * separate stays separate.
 *
 * @param mesh the surface of `grid` at `threshold`, in camera space
 * @returns whether the grid changed
 */
export function joinParts(grid: ScalarGrid, mesh: TriangleMesh, threshold: number, camera: Camera): boolean {
  const parts = connectedParts(mesh);
  if (parts.count < 2) return false;
  const volumes = partVolumes(mesh, parts);
  const lengths = partLengths(mesh.positions, parts);
  const vertices = verticesOf(mesh.positions, parts);
  const [largest, ...others] = [...volumes.keys()].sort((a, b) => volumes[b]! - volumes[a]!);
  const reach = maxGap * grid.cell * (Math.max(...grid.size) - 1);
  const body = new Buckets(reach, vertices[largest!]!);
  let joined = false;
  for (const part of others) {
    const gap = shortestHiddenGap(grid, threshold, camera, vertices[part]!, body, reach);
    if (!gap) continue;
    const radius = Math.sqrt(volumes[part]! / (Math.PI * lengths[part]!));
    addRod(grid, threshold, gap, Math.min(Math.max(radius, minRadius * grid.cell), maxRadius * grid.cell));
    for (const vertex of vertices[part]!) body.add(vertex);
    joined = true;
  }
  return joined;
}

/** The vertices of each part, evenly thinned out. */
function verticesOf(positions: Float32Array, { partOf, count }: Parts): Point[][] {
  const numbers = Array.from({ length: count }, (): number[] => []);
  for (const [vertex, part] of partOf.entries()) numbers[part]!.push(3 * vertex);
  return numbers.map((all) => {
    const stride = Math.ceil(all.length / maxVertices);
    const kept = all.filter((_, index) => index % stride === 0);
    return kept.map((at) => [positions[at]!, positions[at + 1]!, positions[at + 2]!] as const);
  });
}

const between = (a: Point, b: Point, share: number): Point => [
  a[0] + (b[0] - a[0]) * share,
  a[1] + (b[1] - a[1]) * share,
  a[2] + (b[2] - a[2]) * share,
];

/** Points by the cube of space that they are in, to find those within `side` of a point. */
class Buckets {
  readonly #points = new Map<string, Point[]>();
  readonly #side: number;

  constructor(side: number, points: Iterable<Point>) {
    this.#side = side;
    for (const point of points) this.add(point);
  }

  add(point: Point): void {
    const key = point.map((coordinate) => Math.floor(coordinate / this.#side)).join();
    const known = this.#points.get(key);
    if (known) known.push(point);
    else this.#points.set(key, [point]);
  }

  /** The points in the cube of `point` and in the 26 around it. */
  *around(point: Point): Generator<Point> {
    const [x, y, z] = point.map((coordinate) => Math.floor(coordinate / this.#side)) as [number, number, number];
    for (let i = x - 1; i <= x + 1; i++) {
      for (let j = y - 1; j <= y + 1; j++) {
        for (let k = z - 1; k <= z + 1; k++) yield* this.#points.get(`${i},${j},${k}`) ?? [];
      }
    }
  }
}

/** Where along a gap the photo is asked whether it shows it. The ends are on surfaces that it may show. */
const probes = [0.25, 0.5, 0.75];

/** The closest points of a part and of the body whose connection the photo does not show, if closer than `reach`. */
function shortestHiddenGap(
  grid: ScalarGrid,
  threshold: number,
  camera: Camera,
  part: readonly Point[],
  body: Buckets,
  reach: number,
): readonly [Point, Point] | undefined {
  let best: readonly [Point, Point] | undefined;
  let shortest = reach;
  for (const from of part) {
    let nearest: Point | undefined;
    let length = shortest;
    for (const to of body.around(from)) {
      const distance = Math.hypot(to[0] - from[0], to[1] - from[1], to[2] - from[2]);
      if (distance < length) [nearest, length] = [to, distance];
    }
    const gap = nearest && ([from, nearest] as const);
    if (gap && probes.every((share) => isHidden(grid, threshold, camera, between(...gap, share)))) {
      [best, shortest] = [gap, length];
    }
  }
  return best;
}

/** Whether the object itself is between a point and the camera. */
function isHidden({ values, size, origin, cell }: ScalarGrid, threshold: number, camera: Camera, from: Point): boolean {
  const toCamera: Point = [-from[0], -from[1], camera.distance - from[2]];
  const step = cell / Math.hypot(...toCamera);
  for (let share = step; ; share += step) {
    const index = origin.map((start, axis) => Math.round((from[axis]! + toCamera[axis]! * share - start) / cell));
    if (index.some((at, axis) => at < 0 || at >= size[axis]!)) return false;
    if (values[index[0]! + size[0] * (index[1]! + size[1] * index[2]!)]! > threshold) return true;
  }
}

/** Fills a capsule around the line between two points. Its density falls by 1 per cell. */
function addRod(
  { values, size, origin, cell }: ScalarGrid,
  threshold: number,
  [a, b]: readonly [Point, Point],
  radius: number,
): void {
  const along: Point = [b[0] - a[0], b[1] - a[1], b[2] - a[2]];
  const squared = along[0] ** 2 + along[1] ** 2 + along[2] ** 2;
  const range = (axis: 0 | 1 | 2): [number, number] => [
    Math.max(1, Math.floor((Math.min(a[axis], b[axis]) - radius - origin[axis]) / cell)),
    Math.min(size[axis] - 2, Math.ceil((Math.max(a[axis], b[axis]) + radius - origin[axis]) / cell)),
  ];
  const [[x0, x1], [y0, y1], [z0, z1]] = [range(0), range(1), range(2)];
  for (let k = z0; k <= z1; k++) {
    for (let j = y0; j <= y1; j++) {
      for (let i = x0; i <= x1; i++) {
        const [x, y, z] = [origin[0] + i * cell - a[0], origin[1] + j * cell - a[1], origin[2] + k * cell - a[2]];
        const dot = x * along[0] + y * along[1] + z * along[2];
        const share = squared > 0 ? Math.min(Math.max(dot / squared, 0), 1) : 0;
        const distance = Math.hypot(x - share * along[0], y - share * along[1], z - share * along[2]);
        const at = i + size[0] * (j + size[1] * k);
        values[at] = Math.max(values[at]!, threshold + (radius - distance) / cell);
      }
    }
  }
}
