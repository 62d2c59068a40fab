import { type Camera, frameScale } from '../base/camera.js';
import { cornersByVertex, nextCorner, normalOf, type TriangleMesh } from '../base/mesh.js';

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
 * their texels are the photo's pixels, and along an axis for the band in between.
 */
const directions: readonly { axis: 0 | 1 | 2; sign: 1 | -1 }[] = [
  { axis: 2, sign: 1 },
  { axis: 2, sign: -1 },
  { axis: 0, sign: 1 },
  { axis: 0, sign: -1 },
  { axis: 1, sign: 1 },
  { axis: 1, sign: -1 },
];

/** Scale of what one photo does not show, against what it shows: less sharp, but smaller in the texture. */
const hiddenScale = 0.6;

/** Minimum cosine toward the camera for the photo's own chart. Below it, the photo would be stretched. */
const frontCosine = 0.3;

/** A projection keeps at least this share of a triangle's area. */
const minCosine = 0.12;

/** Pixels across the frame for testing whether charts overlap themselves. */
const overlapGrid = 768;

/**
 * Cuts a mesh into charts that each face one way and do not overlap themselves.
 *
 * xatlas finds better charts, but takes 10 s for 30,000 triangles on one core. A photo shows only one side, and cutting
 * along its border takes 0.03 s.
 *
 * @param evenly whether all sides are equally sharp, because photos show them all
 */
export function cutCharts(mesh: TriangleMesh, camera: Camera, evenly = false): Charts {
  const scaleOf = (label: number) => (evenly || label === 0 ? 1 : hiddenScale);
  const triangleCount = mesh.indices.length / 3;
  const cosines = facing(mesh, camera);
  const neighbors = triangleNeighbors(mesh);
  const labels = smoothLabels(initialLabels(cosines), cosines, neighbors);
  const flat = flatten(mesh, camera, labels, scaleOf);

  const chartOfTriangle = new Int32Array(triangleCount).fill(-1);
  const occupied = new Int32Array(overlapGrid * overlapGrid).fill(-1);
  const queue = new Int32Array(triangleCount);
  let count = 0;
  for (let seed = 0; seed < triangleCount; seed++) {
    if (chartOfTriangle[seed]! >= 0) continue;
    const label = labels[seed]!;
    const scale = scaleOf(label);
    chartOfTriangle[seed] = count;
    occupy(flat, seed, scale, occupied, count);
    queue[0] = seed;
    for (let head = 0, tail = 1; head < tail; head++) {
      for (let c = 0; c < 3; c++) {
        const next = neighbors[3 * queue[head]! + c]!;
        if (next < 0 || labels[next] !== label || chartOfTriangle[next]! >= 0) continue;
        // A handle in front of its mug is connected to it and projects onto it: that part starts a new chart.
        if (!occupy(flat, next, scale, occupied, count)) continue;
        chartOfTriangle[next] = count;
        queue[tail++] = next;
      }
    }
    count++;
  }
  return { chartOfTriangle, count, flat };
}

/** Computes the cosine [6·T] of each triangle's normal with each direction. The first two follow the photo's rays. */
function facing({ positions, indices }: TriangleMesh, camera: Camera): Float32Array {
  const cosines = new Float32Array(2 * indices.length);
  const normal = new Float64Array(3);
  for (let t = 0; t < indices.length; t += 3) {
    normalOf(positions, indices, t, normal);
    const [nx, ny, nz] = [normal[0]!, normal[1]!, normal[2]!];
    const a = 3 * indices[t]!;
    const [ax, ay, az] = [positions[a]!, positions[a + 1]!, positions[a + 2]!];
    const area = Math.sqrt(nx * nx + ny * ny + nz * nz);
    const o = 2 * t;
    if (area === 0) {
      // A triangle without area fits any chart.
      cosines.fill(1, o, o + 6);
      continue;
    }
    const towards = camera.distance - az;
    const range = Math.sqrt(ax * ax + ay * ay + towards * towards);
    const toCamera = (nz * towards - nx * ax - ny * ay) / (area * range);
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
      const a = current[neighbors[3 * t]!];
      const b = current[neighbors[3 * t + 1]!];
      const c = current[neighbors[3 * t + 2]!];
      const majority = a === b || a === c ? a : b === c ? b : undefined;
      if (majority !== undefined && cosines[6 * t + majority]! > minCosine) next[t] = majority;
    }
    current = next;
  }
  return current;
}

/** Finds the triangle across each edge [3·T], or -1. */
function triangleNeighbors({ positions, indices }: TriangleMesh): Int32Array {
  // An edge has the number of the corner where it starts.
  const edges = cornersByVertex(indices, positions.length / 3);
  const neighbors = new Int32Array(indices.length).fill(-1);
  for (let edge = 0; edge < indices.length; edge++) {
    const start = indices[edge]!;
    const end = indices[nextCorner(edge)]!;
    for (let i = edges.starts[end]!; i < edges.starts[end + 1]!; i++) {
      const opposite = edges.list[i]!;
      if (indices[nextCorner(opposite)] === start) neighbors[edge] = Math.floor(opposite / 3);
    }
  }
  return neighbors;
}

/**
 * Projects the corners of each triangle [2·3·T] along its label's direction, mirrored where needed to keep their
 * winding.
 */
function flatten(
  { positions, indices }: TriangleMesh,
  camera: Camera,
  labels: Uint8Array,
  scaleOf: (label: number) => number,
): Float32Array {
  const frameHalf = camera.distance * camera.halfTangent;
  const flat = new Float32Array(2 * indices.length);
  for (let i = 0; i < indices.length; i++) {
    const label = labels[Math.floor(i / 3)]!;
    const { axis, sign } = directions[label]!;
    const scale = scaleOf(label);
    const x = positions[3 * indices[i]!]!;
    const y = positions[3 * indices[i]! + 1]!;
    const z = positions[3 * indices[i]! + 2]!;
    if (axis === 2) {
      const perspective = scale / frameScale(camera, z);
      flat[2 * i] = sign * x * perspective;
      flat[2 * i + 1] = -y * perspective;
    } else if (axis === 0) {
      flat[2 * i] = (-sign * z * scale) / frameHalf;
      flat[2 * i + 1] = (-y * scale) / frameHalf;
    } else {
      flat[2 * i] = (x * scale) / frameHalf;
      flat[2 * i + 1] = (sign * z * scale) / frameHalf;
    }
  }
  return flat;
}

/**
 * Marks the pixels whose centers a triangle covers as the chart's.
 * @returns false, and marks none, if one already is
 */
function occupy(flat: Float32Array, t: number, scale: number, occupied: Int32Array, chart: number): boolean {
  const ax = toOverlapGrid(flat[6 * t]!, scale);
  const ay = toOverlapGrid(flat[6 * t + 1]!, scale);
  const bx = toOverlapGrid(flat[6 * t + 2]!, scale);
  const by = toOverlapGrid(flat[6 * t + 3]!, scale);
  const cx = toOverlapGrid(flat[6 * t + 4]!, scale);
  const cy = toOverlapGrid(flat[6 * t + 5]!, scale);
  const left = Math.max(0, Math.floor(Math.min(ax, bx, cx)));
  const right = Math.min(overlapGrid - 1, Math.max(ax, bx, cx));
  const top = Math.max(0, Math.floor(Math.min(ay, by, cy)));
  const bottom = Math.min(overlapGrid - 1, Math.max(ay, by, cy));
  // The first pass looks for an overlap, and the second marks the cells.
  for (let marking = 0; marking < 2; marking++) {
    for (let row = top; row <= bottom; row++) {
      for (let column = left; column <= right; column++) {
        const x = column + 0.5;
        const y = row + 0.5;
        const ab = (bx - ax) * (y - ay) - (by - ay) * (x - ax);
        const bc = (cx - bx) * (y - by) - (cy - by) * (x - bx);
        const ca = (ax - cx) * (y - cy) - (ay - cy) * (x - cx);
        if (!((ab > 0 && bc > 0 && ca > 0) || (ab < 0 && bc < 0 && ca < 0))) continue;
        if (marking) occupied[row * overlapGrid + column] = chart;
        else if (occupied[row * overlapGrid + column] === chart) return false;
      }
    }
  }
  return true;
}

const toOverlapGrid = (flat: number, scale: number): number => ((flat / scale / 1.6 + 1) / 2) * overlapGrid;
