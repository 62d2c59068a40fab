import type { Camera } from '../base/camera.js';
import type { TriangleMesh } from '../base/mesh.js';
import type { ScalarGrid } from '../field/sample-grid.js';
import { connectedParts, type Parts, partLengths, partVolumes } from './clean.js';
import { type Point, PointGrid } from './point-grid.js';

/** Maximum gap, as a share of the grid's longest side. A part farther away may be separate on purpose. */
const maxGap = 0.06;

/**
 * Minimum and maximum radius of a bridge, in cells. A thinner one would fall between the samples; a thicker one would join
 * no better.
 */
const [minRadius, maxRadius] = [1.5, 3];

/** At most this many vertices of a part are compared, for speed. With more, gaps can seem longer by a few cells. */
const maxVertices = 4096;

/**
 * Joins loose parts, such as the rear leg of a chair that the network put slightly too far behind the seat, to the
 * largest part or to one that is already joined to it. If the object hides a short gap from the camera, writes a bridge
 * along it into the grid (islands, which `clean` drops, count as the object). What the camera could see of a bridge is left
 * out, to within a cell.
 *
 * @param mesh the surface of `grid` at `threshold` after `clean` (cavities would count as parts), in camera space
 * @returns whether any part was joined; if not, the grid is unchanged
 */
export function joinParts(grid: ScalarGrid, mesh: TriangleMesh, threshold: number, camera: Camera): boolean {
  const parts = connectedParts(mesh);
  if (parts.count < 2) return false;
  const volumes = partVolumes(mesh, parts);
  const lengths = partLengths(mesh.positions, parts);
  const vertices = verticesOf(mesh.positions, parts);
  const [largest, ...others] = [...volumes.keys()].sort((a, b) => volumes[b]! - volumes[a]!);
  const reach = maxGap * grid.cell * (Math.max(...grid.size) - 1);
  const body = new PointGrid(reach);
  for (const vertex of vertices[largest!]!) body.add(vertex);
  const hidden = (point: Point): boolean => isHidden(grid, threshold, camera, point);
  const loose = new Set(others);
  // Repeated after each round that joined a part, because another may be near only to that one.
  for (let before = Infinity; loose.size < before; ) {
    before = loose.size;
    for (const part of loose) {
      const gap = shortestHiddenGap(vertices[part]!, body, reach, grid.cell, hidden);
      if (!gap) continue;
      const radius = Math.sqrt(volumes[part]! / (Math.PI * lengths[part]!));
      const clamped = Math.min(Math.max(radius, minRadius * grid.cell), maxRadius * grid.cell);
      addBridge(grid, threshold, gap, clamped, hidden);
      for (const vertex of vertices[part]!) body.add(vertex);
      loose.delete(part);
    }
  }
  return loose.size < others.length;
}

/** Selects every n-th vertex of each part, at most `maxVertices`. */
function verticesOf(positions: Float32Array, { partOf, count }: Parts): Point[][] {
  const offsets = Array.from({ length: count }, (): number[] => []);
  for (const [vertex, part] of partOf.entries()) offsets[part]!.push(3 * vertex);
  return offsets.map((own) => {
    const stride = Math.ceil(own.length / maxVertices);
    const kept = own.filter((_, index) => index % stride === 0);
    return kept.map((at) => [positions[at]!, positions[at + 1]!, positions[at + 2]!] as const);
  });
}

const between = (a: Point, b: Point, share: number): Point => [
  a[0] + (b[0] - a[0]) * share,
  a[1] + (b[1] - a[1]) * share,
  a[2] + (b[2] - a[2]) * share,
];

/** Finds the shortest hidden gap between a vertex of the part and a point of the body, if shorter than `reach`. */
function shortestHiddenGap(
  part: readonly Point[],
  body: PointGrid,
  reach: number,
  cell: number,
  hidden: (point: Point) => boolean,
): readonly [Point, Point] | undefined {
  let best: readonly [Point, Point] | undefined;
  let shortest = reach;
  for (const from of part) {
    const { point, distance } = body.nearest(from, shortest);
    if (point && isGapHidden([from, point], distance, cell, hidden)) [best, shortest] = [[from, point], distance];
  }
  return best;
}

/**
 * Whether a gap is hidden along its whole length, except within a cell of its ends. `addBridge` leaves out what is
 * visible, so a bridge along a partly visible gap would join nothing.
 */
function isGapHidden(
  [a, b]: readonly [Point, Point],
  length: number,
  cell: number,
  hidden: (point: Point) => boolean,
): boolean {
  const first = Math.min(cell, length / 2);
  for (let at = first; at <= length - first; at += cell / 2) {
    if (!hidden(between(a, b, at / length))) return false;
  }
  return true;
}

/** Whether anything solid is between a point and the camera, from one cell in front of the point. */
function isHidden(
  { values, size, origin, cell }: ScalarGrid,
  threshold: number,
  camera: Camera,
  point: Point,
): boolean {
  const toCamera: Point = [-point[0], -point[1], camera.distance - point[2]];
  const step = cell / Math.hypot(...toCamera);
  for (let share = step; share < 1; share += step) {
    const index = origin.map((start, axis) => Math.round((point[axis]! + toCamera[axis]! * share - start) / cell));
    if (index.some((at, axis) => at < 0 || at >= size[axis]!)) return false;
    if (values[index[0]! + size[0] * (index[1]! + size[1] * index[2]!)]! > threshold) return true;
  }
  return false;
}

/** Adds the hidden samples of a capsule. The density is the threshold at its surface and falls by 1 per cell. */
function addBridge(
  { values, size, origin, cell }: ScalarGrid,
  threshold: number,
  [a, b]: readonly [Point, Point],
  radius: number,
  hidden: (point: Point) => boolean,
): void {
  const axis: Point = [b[0] - a[0], b[1] - a[1], b[2] - a[2]];
  const squaredLength = axis[0] ** 2 + axis[1] ** 2 + axis[2] ** 2;
  const range = (side: 0 | 1 | 2): [number, number] => [
    Math.max(1, Math.floor((Math.min(a[side], b[side]) - radius - origin[side]) / cell)),
    Math.min(size[side] - 2, Math.ceil((Math.max(a[side], b[side]) + radius - origin[side]) / cell)),
  ];
  const [[x0, x1], [y0, y1], [z0, z1]] = [range(0), range(1), range(2)];
  for (let k = z0; k <= z1; k++) {
    for (let j = y0; j <= y1; j++) {
      for (let i = x0; i <= x1; i++) {
        const point: Point = [origin[0] + i * cell, origin[1] + j * cell, origin[2] + k * cell];
        const [x, y, z] = [point[0] - a[0], point[1] - a[1], point[2] - a[2]];
        const dot = x * axis[0] + y * axis[1] + z * axis[2];
        const share = squaredLength > 0 ? Math.min(Math.max(dot / squaredLength, 0), 1) : 0;
        const distance = Math.hypot(x - share * axis[0], y - share * axis[1], z - share * axis[2]);
        const density = threshold + (radius - distance) / cell;
        const at = i + size[0] * (j + size[1] * k);
        if (density > values[at]! && hidden(point)) values[at] = density;
      }
    }
  }
}
