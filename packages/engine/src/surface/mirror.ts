import type { TriangleMesh } from './mesh.js';

/** A plane: the points p with normal · p = offset. The normal is of unit length. */
export interface Plane {
  readonly normal: readonly [number, number, number];
  readonly offset: number;
}

/** The points [3·N] on the other side of the plane. With an offset of 0: directions. */
export function reflect({ normal, offset }: Plane, points: Float32Array): Float32Array {
  const reflected = points.slice();
  for (let i = 0; i < points.length; i += 3) {
    const along = normal[0] * points[i]! + normal[1] * points[i + 1]! + normal[2] * points[i + 2]!;
    for (let axis = 0; axis < 3; axis++) reflected[i + axis]! -= 2 * (along - offset) * normal[axis]!;
  }
  return reflected;
}

export interface MirrorOptions {
  /** The plane stands: its normal is at right angles to this unit vector. */
  readonly up: readonly [number, number, number];
  /** The normal is at least so far from this unit vector, in radians: a plane across the view tells nothing about the far side. */
  readonly view: readonly [number, number, number];
  readonly awayFromView: number;
}

/** A reconstruction from one photo is never quite symmetric: chairs and trucks that are were found to be off by 0.022. */
const greatestError = 0.025;

/** Where the normal is nearer to the view, the other side is what the photo sees through the thing: it has a way of its own. */
const awayFromView = (30 * Math.PI) / 180;

/** The plane of symmetry of an object in the photo camera's frame, if it has one that says something of its far side. */
export function mirrorOf(mesh: TriangleMesh, elevationRadians: number): Plane | undefined {
  const up = [0, Math.cos(elevationRadians), Math.sin(elevationRadians)] as const;
  const found = findMirror(mesh, { up, view: [0, 0, 1], awayFromView });
  return found && found.error < greatestError ? found : undefined;
}

const samples = 1200;
const coarseSteps = 24;

/**
 * Finds the upright plane across which a mesh is most nearly its own mirror image.
 *
 * @returns the plane, and its `error`: the mean distance of the mirrored vertices to the nearest vertex, as a share of
 *   the mesh's extent; undefined if no plane is far enough from the view
 */
export function findMirror(
  mesh: TriangleMesh,
  options: MirrorOptions,
): (Plane & { readonly error: number }) | undefined {
  const { up, view } = options;
  const points = spread(mesh.positions);
  const { middle, extent } = boxOf(mesh.positions);
  const nearest = nearestVertex(mesh.positions, extent / 48);
  const [east, north] = horizontal(up);
  const limit = Math.cos(options.awayFromView);

  const planeAt = (angle: number, shift: number): Plane => {
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
    const normal = [0, 1, 2].map((axis) => cos * east[axis]! + sin * north[axis]!) as [number, number, number];
    return { normal, offset: dot(normal, middle) + shift * extent };
  };
  const errorOf = (plane: Plane): number => {
    const reflected = reflect(plane, points);
    let sum = 0;
    for (let i = 0; i < reflected.length; i += 3) sum += nearest(reflected[i]!, reflected[i + 1]!, reflected[i + 2]!);
    return sum / (points.length / 3) / extent;
  };

  let best: { angle: number; shift: number; error: number } | undefined;
  const consider = (angle: number, shift: number) => {
    const plane = planeAt(angle, shift);
    if (Math.abs(dot(plane.normal, view)) > limit) return;
    const error = errorOf(plane);
    if (!best || error < best.error) best = { angle, shift, error };
  };
  for (let step = 0; step < coarseSteps; step++) {
    for (const shift of [-0.05, 0, 0.05]) consider((step * Math.PI) / coarseSteps, shift);
  }
  for (let reach = Math.PI / coarseSteps / 2; best && reach > 0.01; reach /= 2) {
    const { angle, shift } = best;
    const slide = 0.2 * reach;
    for (const turn of [-reach, 0, reach]) for (const by of [-slide, 0, slide]) consider(angle + turn, shift + by);
  }
  return best && { ...planeAt(best.angle, best.shift), error: best.error };
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

/** Every n-th of the vertices, [3·samples] or less. */
function spread(positions: Float32Array): Float32Array {
  const count = positions.length / 3;
  const step = Math.max(1, Math.floor(count / samples));
  const points = new Float32Array(3 * Math.ceil(count / step));
  for (let i = 0, vertex = 0; vertex < count; i += 3, vertex += step) {
    points.set(positions.subarray(3 * vertex, 3 * vertex + 3), i);
  }
  return points;
}

function boxOf(positions: Float32Array): { middle: readonly [number, number, number]; extent: number } {
  const [min, max] = [new Float32Array(3).fill(Infinity), new Float32Array(3).fill(-Infinity)];
  for (let i = 0; i < positions.length; i++) {
    min[i % 3] = Math.min(min[i % 3]!, positions[i]!);
    max[i % 3] = Math.max(max[i % 3]!, positions[i]!);
  }
  return {
    middle: [(min[0]! + max[0]!) / 2, (min[1]! + max[1]!) / 2, (min[2]! + max[2]!) / 2],
    extent: Math.max(max[0]! - min[0]!, max[1]! - min[1]!, max[2]! - min[2]!),
  };
}

/** The distance to the nearest vertex, found through a grid of cells; beyond two cells it is said to be two. */
function nearestVertex(positions: Float32Array, cell: number): (x: number, y: number, z: number) => number {
  const cells = new Map<number, number[]>();
  const keyOf = (i: number, j: number, k: number) => ((i + 512) * 1024 + (j + 512)) * 1024 + (k + 512);
  const indexOf = (value: number) => Math.floor(value / cell);
  for (let p = 0; p < positions.length; p += 3) {
    const key = keyOf(indexOf(positions[p]!), indexOf(positions[p + 1]!), indexOf(positions[p + 2]!));
    const list = cells.get(key);
    if (list) list.push(p);
    else cells.set(key, [p]);
  }
  return (x, y, z) => {
    let best = 4 * cell * cell;
    const [i, j, k] = [indexOf(x), indexOf(y), indexOf(z)];
    for (let di = -1; di <= 1; di++) {
      for (let dj = -1; dj <= 1; dj++) {
        for (let dk = -1; dk <= 1; dk++) {
          const list = cells.get(keyOf(i + di, j + dj, k + dk));
          if (!list) continue;
          for (const p of list) {
            const [dx, dy, dz] = [positions[p]! - x, positions[p + 1]! - y, positions[p + 2]! - z];
            best = Math.min(best, dx * dx + dy * dy + dz * dz);
          }
        }
      }
    }
    return Math.sqrt(best);
  };
}
