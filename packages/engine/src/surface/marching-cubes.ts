import { growingFloats, growingInts } from '../base/growing.js';
import type { TriangleMesh } from '../base/mesh.js';
import type { ScalarGrid } from '../field/sample-grid.js';
import { cubeTriangles, edgeCorners } from './marching-cubes-table.js';

/**
 * Extracts the surface where a sampled density crosses `threshold`, as an indexed mesh with shared vertices.
 *
 * Sides: inside is above `threshold`; triangles wind counter-clockwise seen from outside.
 * Closed: if every border sample is outside, each edge belongs to exactly two triangles, in opposite directions, and
 * the triangles around each vertex form one fan (see `marching-cubes-table.ts` for why).
 * Empty: a density that never crosses gives no vertices and no error.
 * @throws {RangeError} if `values.length` is not nx·ny·nz, or any value is NaN
 * @see Lorensen and Cline, "Marching Cubes", SIGGRAPH 1987
 */
export function marchingCubes(grid: ScalarGrid, threshold: number): TriangleMesh {
  const { values, origin, cell } = grid;
  const [nx, ny, nz] = grid.size;
  if (values.length !== nx * ny * nz) {
    throw new RangeError(`${nx}x${ny}x${nz} samples expected, ${values.length} given`);
  }
  const layer = nx * ny;
  const positions = growingFloats();
  const indices = growingInts();

  // A crossing is identified by its grid edge: the lower sample and the axis. Cells share edges only within two
  // neighboring layers, so ids are kept for two layers instead of the whole grid.
  const edgeIds = [new Int32Array(3 * layer).fill(-1), new Int32Array(3 * layer).fill(-1)] as const;
  // Whether each sample of the two layers is inside, so that it is compared once and not for each of its eight cells.
  const insides = [new Uint8Array(layer), new Uint8Array(layer)] as const;
  // The inside samples of each row of the two layers. Only cells next to them can be crossed.
  const counts = [new Uint32Array(ny), new Uint32Array(ny)] as const;
  markInside(values, 0, threshold, insides[0], counts[0]);

  for (let k = 0; k < nz - 1; k++) {
    const [near, far] = k & 1 ? [insides[1], insides[0]] : insides;
    const [nearCounts, farCounts] = k & 1 ? [counts[1], counts[0]] : counts;
    markInside(values, (k + 1) * layer, threshold, far, farCounts);
    for (let j = 0; j < ny - 1; j++) {
      if (nearCounts[j]! + nearCounts[j + 1]! + farCounts[j]! + farCounts[j + 1]! === 0) continue;
      const row = j * nx;
      const base = row + k * layer;
      // Corners are numbered x + 2y + 4z: a step to the right turns the odd ones, with x = 1, into the even ones.
      let configuration = (near[row]! << 1) | (near[row + nx]! << 3) | (far[row]! << 5) | (far[row + nx]! << 7);
      for (let i = 0; i < nx - 1; i++) {
        const right = row + i + 1;
        configuration =
          ((configuration & 0b10101010) >> 1) |
          (near[right]! << 1) |
          (near[right + nx]! << 3) |
          (far[right]! << 5) |
          (far[right + nx]! << 7);
        if (configuration === 0 || configuration === 255) continue;
        const triangles = cubeTriangles[configuration]!;
        for (let t = 0; t < triangles.length; t++) {
          const edge = triangles[t]!;
          const from = edgeFrom[edge]!;
          const axis = edgeAxis[edge]!;
          const x = i + (from & 1);
          const y = j + ((from >> 1) & 1);
          const z = from >> 2;
          const ids = edgeIds[((k + z) & 1) as 0 | 1];
          const slot = 3 * (x + y * nx) + axis;
          let id = ids[slot]!;
          if (id < 0) {
            const a = base + i + (from & 1) + (from & 2 ? nx : 0) + z * layer;
            const va = values[a]!;
            const vb = values[a + (axis === 0 ? 1 : axis === 1 ? nx : layer)]!;
            // Keeps away from the sample: several edges that cross in one point would give triangles without area.
            const t = Math.min(Math.max((threshold - va) / (vb - va), 0.02), 0.98);
            id = ids[slot] = positions.length / 3;
            positions.push(origin[0] + (x + (axis === 0 ? t : 0)) * cell);
            positions.push(origin[1] + (y + (axis === 1 ? t : 0)) * cell);
            positions.push(origin[2] + (k + z + (axis === 2 ? t : 0)) * cell);
          }
          indices.push(id);
        }
      }
    }
    edgeIds[(k & 1) as 0 | 1].fill(-1);
  }
  return { positions: positions.toArray(), indices: indices.toArray() };
}

const edgeFrom = Uint8Array.from(edgeCorners, ([corner]) => corner);
const edgeAxis = Uint8Array.from(edgeCorners, ([, axis]) => axis);

/** Marks the samples of a layer that are inside, and counts them by row. */
function markInside(
  values: Float32Array,
  start: number,
  threshold: number,
  inside: Uint8Array,
  counts: Uint32Array,
): void {
  const nx = inside.length / counts.length;
  for (let i = 0, j = 0; j < counts.length; j++) {
    let count = 0;
    for (const end = i + nx; i < end; i++) {
      const value = values[start + i]!;
      if (Number.isNaN(value)) throw new RangeError(`the density is NaN at sample ${start + i}`);
      const isInside = value > threshold ? 1 : 0;
      inside[i] = isInside;
      count += isInside;
    }
    counts[j] = count;
  }
}
