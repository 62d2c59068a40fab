import type { Camera } from '../base/camera.js';
import type { TriangleMesh } from '../base/mesh.js';

/** A surface cut into flattened, connected pieces. Lengths are in half widths of the photo's frame. */
export interface Charts {
  /** [T] the chart of each triangle. */
  readonly chartOfTriangle: Int32Array;
  readonly count: number;
  /** [2·3·T] flat coordinates of each triangle's corners, within its chart. */
  readonly flat: Float32Array;
}

/**
 * Projections that flatten charts: along the photo's rays for parts that face towards or away from the camera, so that
 * their texels are the photo's pixels, and along an axis for the band in between. `scale` trades sharpness for space:
 * the visible side keeps full resolution.
 */
const directions: readonly { axis: 0 | 1 | 2; sign: 1 | -1; scale: number }[] = [
  { axis: 2, sign: 1, scale: 1 },
  { axis: 2, sign: -1, scale: 0.6 },
  { axis: 0, sign: 1, scale: 0.6 },
  { axis: 0, sign: -1, scale: 0.6 },
  { axis: 1, sign: 1, scale: 0.6 },
  { axis: 1, sign: -1, scale: 0.6 },
];

/** Minimum cosine towards the camera for the photo's own chart. Below it, the photo would be stretched. */
const frontCosine = 0.3;

/** A projection keeps at least this share of a triangle's area. */
const minCosine = 0.12;

/** Pixels across the frame for testing whether charts overlap themselves. */
const overlapGrid = 768;

/**
 * Cuts a mesh into charts that each face one way and do not overlap themselves.
 *
 * xatlas finds better charts, but takes 10 s for 30,000 triangles on one core. A photo shows only one side, and cutting
 * along its border takes a hundredth of that.
 */
export function cutCharts(mesh: TriangleMesh, camera: Camera): Charts {
  const { indices } = mesh;
  const triangleCount = indices.length / 3;
  const cosines = facing(mesh, camera);
  const neighbors = triangleNeighbors(mesh);
  const labels = smoothLabels(initialLabels(cosines), cosines, neighbors);

  const flat = new Float32Array(6 * triangleCount);
  for (let t = 0; t < triangleCount; t++) flatten(mesh, camera, t, labels[t]!, flat);

  const chartOfTriangle = new Int32Array(triangleCount).fill(-1);
  const occupied = new Int32Array(overlapGrid * overlapGrid).fill(-1);
  const queue = new Int32Array(triangleCount);
  let count = 0;
  for (let seed = 0; seed < triangleCount; seed++) {
    if (chartOfTriangle[seed]! >= 0) continue;
    const label = labels[seed]!;
    chartOfTriangle[seed] = count;
    occupy(flat, seed, directions[label]!.scale, occupied, count);
    queue[0] = seed;
    for (let head = 0, tail = 1; head < tail; head++) {
      for (let c = 0; c < 3; c++) {
        const next = neighbors[3 * queue[head]! + c]!;
        if (next < 0 || labels[next] !== label || chartOfTriangle[next]! >= 0) continue;
        // A handle in front of its mug is connected to it and projects onto it: that part starts a new chart.
        if (!occupy(flat, next, directions[label]!.scale, occupied, count)) continue;
        chartOfTriangle[next] = count;
        queue[tail++] = next;
      }
    }
    count++;
  }
  return { chartOfTriangle, count, flat };
}

/** [6·T] cosine of each triangle's normal with each direction. The first two follow the photo's rays. */
function facing({ positions, indices }: TriangleMesh, camera: Camera): Float32Array {
  const cosines = new Float32Array(2 * indices.length);
  for (let t = 0; t < indices.length; t += 3) {
    const [a, b, c] = [3 * indices[t]!, 3 * indices[t + 1]!, 3 * indices[t + 2]!];
    const [ax, ay, az] = [positions[a]!, positions[a + 1]!, positions[a + 2]!];
    const [ux, uy, uz] = [positions[b]! - ax, positions[b + 1]! - ay, positions[b + 2]! - az];
    const [vx, vy, vz] = [positions[c]! - ax, positions[c + 1]! - ay, positions[c + 2]! - az];
    const [nx, ny, nz] = [uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx];
    const area = Math.hypot(nx, ny, nz) || 1;
    const towards = camera.distance - az;
    const toCamera = (nz * towards - nx * ax - ny * ay) / (area * Math.hypot(ax, ay, towards));
    const o = 2 * t;
    cosines[o] = toCamera;
    cosines[o + 1] = -toCamera;
    cosines[o + 2] = nx / area;
    cosines[o + 3] = -nx / area;
    cosines[o + 4] = ny / area;
    cosines[o + 5] = -ny / area;
  }
  return cosines;
}

function initialLabels(cosines: Float32Array): Uint8Array {
  const labels = new Uint8Array(cosines.length / 6);
  for (let t = 0; t < labels.length; t++) {
    if (cosines[6 * t]! >= frontCosine) continue;
    let best = 1;
    for (let d = 2; d < 6; d++) if (cosines[6 * t + d]! > cosines[6 * t + best]!) best = d;
    // The photo's rays and the axes are not at right angles, so a triangle may fit no direction but the front.
    labels[t] = cosines[6 * t + best]! >= minCosine ? best : 0;
  }
  return labels;
}

/** Gives triangles the label of most of their neighbors where their normal allows it, for fewer and larger charts. */
function smoothLabels(labels: Uint8Array, cosines: Float32Array, neighbors: Int32Array): Uint8Array {
  let current = labels;
  for (let pass = 0; pass < 6; pass++) {
    const next = current.slice();
    for (let t = 0; t < current.length; t++) {
      const [a, b, c] = [0, 1, 2].map((corner) => current[neighbors[3 * t + corner]!]);
      const majority = a === b || a === c ? a : b === c ? b : undefined;
      if (majority !== undefined && cosines[6 * t + majority]! > minCosine) next[t] = majority;
    }
    current = next;
  }
  return current;
}

/** [3·T] the triangle across each edge, or -1. */
function triangleNeighbors({ positions, indices }: TriangleMesh): Int32Array {
  const vertexCount = positions.length / 3;
  const owner = new Map<number, number>();
  const edge = (a: number, b: number) => a * vertexCount + b;
  const end = (i: number) => indices[i % 3 === 2 ? i - 2 : i + 1]!;
  for (let i = 0; i < indices.length; i++) owner.set(edge(indices[i]!, end(i)), Math.floor(i / 3));
  return Int32Array.from(indices, (start, i) => owner.get(edge(end(i), start)) ?? -1);
}

function flatten({ positions, indices }: TriangleMesh, camera: Camera, t: number, label: number, flat: Float32Array) {
  const { axis, sign, scale } = directions[label]!;
  const frameHalf = camera.distance * camera.halfTangent;
  for (let c = 0; c < 3; c++) {
    const p = 3 * indices[3 * t + c]!;
    const [x, y, z] = [positions[p]!, positions[p + 1]!, positions[p + 2]!];
    const perspective = scale / ((camera.distance - z) * camera.halfTangent);
    // Mirrored as needed, so that triangles keep their winding.
    const [u, v] =
      axis === 2
        ? [sign * x * perspective, -y * perspective]
        : axis === 0
          ? [(-sign * z * scale) / frameHalf, (-y * scale) / frameHalf]
          : [(x * scale) / frameHalf, (sign * z * scale) / frameHalf];
    flat[6 * t + 2 * c] = u;
    flat[6 * t + 2 * c + 1] = v;
  }
}

/**
 * Marks the pixels whose centers a triangle covers as the chart's.
 * @returns false, and marks none, if one already is
 */
function occupy(flat: Float32Array, t: number, scale: number, occupied: Int32Array, chart: number): boolean {
  const toGrid = (value: number) => ((value / scale / 1.6 + 1) / 2) * overlapGrid;
  const at = (i: number) => toGrid(flat[6 * t + i]!);
  const [ax, ay, bx, by, cx, cy] = [at(0), at(1), at(2), at(3), at(4), at(5)];
  const visit = (use: (pixel: number) => boolean): boolean => {
    const [x0, x1] = [Math.max(0, Math.floor(Math.min(ax, bx, cx))), Math.min(overlapGrid - 1, Math.max(ax, bx, cx))];
    const [y0, y1] = [Math.max(0, Math.floor(Math.min(ay, by, cy))), Math.min(overlapGrid - 1, Math.max(ay, by, cy))];
    for (let y = y0; y <= y1; y++) {
      for (let x = x0; x <= x1; x++) {
        const [px, py] = [x + 0.5, y + 0.5];
        const ab = (bx - ax) * (py - ay) - (by - ay) * (px - ax);
        const bc = (cx - bx) * (py - by) - (cy - by) * (px - bx);
        const ca = (ax - cx) * (py - cy) - (ay - cy) * (px - cx);
        if (((ab > 0 && bc > 0 && ca > 0) || (ab < 0 && bc < 0 && ca < 0)) && !use(y * overlapGrid + x)) return false;
      }
    }
    return true;
  };
  if (!visit((pixel) => occupied[pixel] !== chart)) return false;
  return visit((pixel) => {
    occupied[pixel] = chart;
    return true;
  });
}
