import type { TriangleMesh } from '../base/mesh.js';

/** The plane of points p with normal · p = offset. The normal has unit length. */
export interface MirrorPlane {
  readonly normal: readonly [number, number, number];
  readonly offset: number;
}

/** Reflects points [3·N] across the plane; with an offset of 0, directions. */
export function reflect({ normal, offset }: MirrorPlane, points: Float32Array): Float32Array {
  const reflected = points.slice();
  for (let i = 0; i < points.length; i += 3) {
    const along = normal[0] * points[i]! + normal[1] * points[i + 1]! + normal[2] * points[i + 2]!;
    for (let axis = 0; axis < 3; axis++) reflected[i + axis]! -= 2 * (along - offset) * normal[axis]!;
  }
  return reflected;
}

export interface MirrorOptions {
  /** The normal is at right angles to this unit vector. */
  readonly up: readonly [number, number, number];
  /** The view axis, a unit vector. */
  readonly view: readonly [number, number, number];
  /** Minimum angle between normal and view in radians. A plane across the view tells nothing about the far side. */
  readonly awayFromView: number;
}

/** A reconstruction from one photo is never exactly symmetric: chairs and trucks had an error of 0.03. */
const maxError = 0.034;

/** With a normal nearer to the view, the other side is the one behind, for which `bake` has another method. */
const awayFromView = (30 * Math.PI) / 180;

/**
 * The upright planes in which an object in the photo camera's frame is nearly its own mirror image, by shape, the best
 * first. Only planes that tell something about its far side.
 */
export function mirrorsOf(mesh: TriangleMesh, elevationRadians: number): MirrorPlane[] {
  const up = [0, Math.cos(elevationRadians), Math.sin(elevationRadians)] as const;
  return findMirrors(mesh, { up, view: [0, 0, 1], awayFromView }).filter(({ error }) => error < maxError);
}

const samples = 1200;
const coarseSteps = 24;
/** Minimum angle between two planes. A box and a truck have two; planes nearer to one of them are the same one. */
const minAngleBetween = (40 * Math.PI) / 180;
/** Maximum error of a vertex, as a share of the extent, so that missing parts do not dominate. */
const maxMiss = 0.08;

/**
 * Finds the upright planes in which a mesh is most nearly its own mirror image: the best one, and the best one at a
 * large angle to it, if any.
 *
 * `error` is the mean distance of the mirrored vertices to the nearest vertex, as a share of the mesh's extent.
 */
export function findMirrors(mesh: TriangleMesh, options: MirrorOptions): (MirrorPlane & { readonly error: number })[] {
  const { up, view } = options;
  const points = everyNth(mesh.positions);
  const measures = measure(mesh.positions);
  const { middle, extent } = measures;
  const distances = nearestVertex(mesh.positions, measures);
  const [east, north] = horizontal(up);
  const limit = Math.cos(options.awayFromView);

  const planeAt = (angle: number, shift: number): MirrorPlane => {
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
    const normal = [0, 1, 2].map((axis) => cos * east[axis]! + sin * north[axis]!) as [number, number, number];
    return { normal, offset: dot(normal, middle) + shift * extent };
  };
  const errorOf = (plane: MirrorPlane, distance: (x: number, y: number, z: number) => number): number => {
    const reflected = reflect(plane, points);
    let sum = 0;
    for (let i = 0; i < reflected.length; i += 3) {
      const miss = distance(reflected[i]!, reflected[i + 1]!, reflected[i + 2]!) / extent;
      sum += Math.min(miss, maxMiss);
    }
    return sum / (points.length / 3);
  };
  const candidateAt = (angle: number, shift: number): Candidate | undefined => {
    const plane = planeAt(angle, shift);
    if (Math.abs(dot(plane.normal, view)) > limit) return undefined;
    return { angle, shift, error: errorOf(plane, distances.about) };
  };
  const better = (a: Candidate, b: Candidate | undefined) => (b && b.error < a.error ? b : a);

  const coarse: Candidate[] = [];
  for (let step = 0; step < coarseSteps; step++) {
    const shifts = [-0.05, 0, 0.05].map((shift) => candidateAt((step * Math.PI) / coarseSteps, shift));
    coarse.push(...shifts.filter((candidate) => candidate !== undefined));
  }
  coarse.sort((a, b) => a.error - b.error);
  const [first] = coarse;
  if (!first) return [];
  const second = coarse.find(({ angle }) => angleBetween(angle, first.angle) > minAngleBetween);

  const refined = [first, ...(second ? [second] : [])].map((start) => {
    let best = start;
    for (let reach = Math.PI / coarseSteps / 2; reach > 0.01; reach /= 2) {
      const { angle, shift } = best;
      for (const turn of [-reach, 0, reach]) {
        for (const slide of [-0.2 * reach, 0, 0.2 * reach])
          best = better(best, candidateAt(angle + turn, shift + slide));
      }
    }
    const plane = planeAt(best.angle, best.shift);
    return { ...plane, error: errorOf(plane, distances.exact) };
  });
  return refined.sort((a, b) => a.error - b.error);
}

interface Candidate {
  /** Angle of the normal around up. */
  readonly angle: number;
  /** Position of the plane along its normal, as a share of the extent. */
  readonly shift: number;
  readonly error: number;
}

/** The angle between two planes. A normal and its opposite are the same. */
function angleBetween(a: number, b: number): number {
  const turn = Math.abs(a - b) % Math.PI;
  return Math.min(turn, Math.PI - turn);
}

const dot = (a: readonly number[], b: readonly number[]) => a[0]! * b[0]! + a[1]! * b[1]! + a[2]! * b[2]!;

/** Two unit vectors at right angles to `up` and to each other. */
function horizontal(up: readonly [number, number, number]): [readonly number[], readonly number[]] {
  const helper = Math.abs(up[0]) < 0.9 ? [1, 0, 0] : [0, 0, 1];
  const along = dot(helper, up);
  const east = helper.map((value, axis) => value - along * up[axis]!);
  const length = Math.hypot(...east);
  const unit = east.map((value) => value / length);
  const north = [
    up[1] * unit[2]! - up[2] * unit[1]!,
    up[2] * unit[0]! - up[0] * unit[2]!,
    up[0] * unit[1]! - up[1] * unit[0]!,
  ];
  return [unit, north];
}

/** Every n-th vertex, about [3·samples]. */
function everyNth(positions: Float32Array): Float32Array {
  const count = positions.length / 3;
  const step = Math.max(1, Math.floor(count / samples));
  const points = new Float32Array(3 * Math.ceil(count / step));
  for (let i = 0, vertex = 0; vertex < count; i += 3, vertex += step) {
    points.set(positions.subarray(3 * vertex, 3 * vertex + 3), i);
  }
  return points;
}

interface Measures {
  /** The mean of the vertices, which is on every plane of symmetry of an evenly sampled surface. */
  readonly middle: readonly [number, number, number];
  readonly min: readonly number[];
  readonly max: readonly number[];
  /** The longest side. */
  readonly extent: number;
}

function measure(positions: Float32Array): Measures {
  const sums = [0, 0, 0];
  const [min, max] = [
    [Infinity, Infinity, Infinity],
    [-Infinity, -Infinity, -Infinity],
  ];
  for (let i = 0; i < positions.length; i += 3) {
    for (let axis = 0; axis < 3; axis++) {
      const value = positions[i + axis]!;
      sums[axis]! += value;
      min[axis] = Math.min(min[axis]!, value);
      max[axis] = Math.max(max[axis]!, value);
    }
  }
  const count = positions.length / 3;
  return {
    middle: [sums[0]! / count, sums[1]! / count, sums[2]! / count],
    min,
    max,
    extent: Math.max(...max.map((value, axis) => value - min[axis]!)),
  };
}

interface Distances {
  /** Accurate to about a cell of a grid, by a chamfer transform. */
  about(x: number, y: number, z: number): number;
  /** Exact if a vertex is in the same cell or next to it. */
  exact(x: number, y: number, z: number): number;
}

/** Cells along the longest side of the mesh. */
const cellsAcross = 40;

/** Cells around the mesh, beyond which every distance is above `maxMiss`. */
const borderCells = Math.ceil(maxMiss * cellsAcross) + 1;

const none = -1;

/**
 * The distance from any point to the nearest vertex. Distances above `maxMiss` are only guaranteed to be above it.
 *
 * @see Borgefors, "Distance Transformations in Digital Images", 1986
 */
function nearestVertex(positions: Float32Array, { min, max, middle, extent }: Measures): Distances {
  const cell = extent / cellsAcross;
  const cellsTo = (value: number, axis: 0 | 1 | 2) => Math.floor((value - middle[axis]) / cell);
  const first = ([0, 1, 2] as const).map((axis) => cellsTo(min[axis]!, axis) - borderCells);
  const size = ([0, 1, 2] as const).map((axis) => cellsTo(max[axis]!, axis) + borderCells + 1 - first[axis]!);
  const [nx, ny] = [size[0]!, size[1]!];
  // A point beyond the grid counts as being in the second outermost layer of cells, whose neighbors all exist.
  const indexOf = (value: number, axis: 0 | 1 | 2) =>
    Math.min(Math.max(cellsTo(value, axis) - first[axis]!, 1), size[axis]! - 2);
  const cellAt = (x: number, y: number, z: number) => (indexOf(z, 2) * ny + indexOf(y, 1)) * nx + indexOf(x, 0);

  const distance = new Float32Array(nx * ny * size[2]!).fill(Infinity);
  // The vertices in each cell as a linked list.
  const firstIn = new Int32Array(distance.length).fill(none);
  const next = new Int32Array(positions.length / 3);
  for (let vertex = 0; vertex < next.length; vertex++) {
    const at = cellAt(positions[3 * vertex]!, positions[3 * vertex + 1]!, positions[3 * vertex + 2]!);
    distance[at] = 0;
    next[vertex] = firstIn[at]!;
    firstIn[at] = vertex;
  }
  const offsets = new Int32Array(27);
  const lengths = new Float32Array(27);
  for (let n = 0; n < 27; n++) {
    const [i, j, k] = [(n % 3) - 1, (Math.floor(n / 3) % 3) - 1, Math.floor(n / 9) - 1];
    offsets[n] = (k * ny + j) * nx + i;
    lengths[n] = Math.hypot(i, j, k) * cell;
  }
  // The first thirteen offsets precede the cell in memory; the last thirteen are their opposites.
  const reach = nx * ny + nx + 1;
  const relax = (at: number, firstOffset: number) => {
    let shortest = distance[at]!;
    for (let n = firstOffset; n < firstOffset + 13; n++) {
      shortest = Math.min(shortest, distance[at + offsets[n]!]! + lengths[n]!);
    }
    distance[at] = shortest;
  };
  for (let at = reach; at < distance.length; at++) relax(at, 0);
  for (let at = distance.length - reach - 1; at >= 0; at--) relax(at, 14);

  return {
    about: (x, y, z) => distance[cellAt(x, y, z)]!,
    exact: (x, y, z) => {
      const at = cellAt(x, y, z);
      if (distance[at]! > 1.8 * cell) return distance[at]!;
      let best = 2 * cell;
      for (const offset of offsets) {
        for (let vertex = firstIn[at + offset]!; vertex !== none; vertex = next[vertex]!) {
          const p = 3 * vertex;
          best = Math.min(best, Math.hypot(positions[p]! - x, positions[p + 1]! - y, positions[p + 2]! - z));
        }
      }
      return best;
    },
  };
}
