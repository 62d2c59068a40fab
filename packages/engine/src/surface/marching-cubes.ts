import { cubeTriangles, edgeCorners } from './marching-cubes-table.js';
import type { TriangleMesh } from './mesh.js';
import type { ScalarGrid } from './scalar-grid.js';

/**
 * Extracts the surface where a sampled density crosses `threshold`, as an indexed mesh with shared vertices.
 *
 * Sides: inside is above `threshold`; fronts wind counter-clockwise seen from outside.
 * Closed: if every border sample is outside, each edge belongs to exactly two triangles, in opposite directions, and
 * the triangles around each vertex form one fan (see `marching-cubes-table.ts` for why).
 * Empty: a density that never crosses gives no vertices and no error; the caller decides.
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
  const cornerOffsets = Int32Array.from(
    { length: 8 },
    (_, c) => (c & 1) + ((c >> 1) & 1) * nx + ((c >> 2) & 1) * layer,
  );
  const positions = new GrowingFloats();
  const indices = new GrowingInts();

  // A crossing belongs to the grid edge it lies on, named by its lower sample and its axis. Cells only ever share
  // edges within two neighbouring layers, so two layers of ids are kept, not one id for every edge of the grid.
  let edgeIds = [new Int32Array(3 * layer).fill(-1), new Int32Array(3 * layer).fill(-1)] as const;

  for (let k = 0; k < nz - 1; k++) {
    for (let j = 0; j < ny - 1; j++) {
      for (let i = 0; i < nx - 1; i++) {
        const base = i + j * nx + k * layer;
        let configuration = 0;
        for (let c = 0; c < 8; c++) {
          const value = values[base + cornerOffsets[c]!]!;
          if (value > threshold) configuration |= 1 << c;
          else if (Number.isNaN(value))
            throw new RangeError(`the density is NaN at sample ${base + cornerOffsets[c]!}`);
        }
        if (configuration === 0 || configuration === 255) continue;
        const triangles = cubeTriangles[configuration]!;
        for (let t = 0; t < triangles.length; t++) {
          const [from, axis] = edgeCorners[triangles[t]!]!;
          const x = i + (from & 1);
          const y = j + ((from >> 1) & 1);
          const ids = edgeIds[(from >> 2) as 0 | 1];
          const slot = 3 * (x + y * nx) + axis;
          let id = ids[slot]!;
          if (id < 0) {
            const a = base + cornerOffsets[from]!;
            const va = values[a]!;
            const vb = values[base + cornerOffsets[from | (1 << axis)]!]!;
            // Kept off the samples themselves: crossings of several edges that meet in one point would make
            // triangles without area.
            const t = Math.min(Math.max((threshold - va) / (vb - va), 0.02), 0.98);
            id = ids[slot] = positions.length / 3;
            positions.push(origin[0] + (x + (axis === 0 ? t : 0)) * cell);
            positions.push(origin[1] + (y + (axis === 1 ? t : 0)) * cell);
            positions.push(origin[2] + (k + (from >> 2) + (axis === 2 ? t : 0)) * cell);
          }
          indices.push(id);
        }
      }
    }
    edgeIds = [edgeIds[1], edgeIds[0].fill(-1)];
  }
  return { positions: positions.toArray(), indices: indices.toArray() };
}

/** An array of unknown final length without a boxed number per element. */
abstract class Growing<A extends Float32Array | Uint32Array> {
  length = 0;
  protected abstract array: A;
  protected abstract allocate(length: number): A;

  push(value: number): void {
    if (this.length === this.array.length) {
      const larger = this.allocate(2 * this.array.length);
      larger.set(this.array);
      this.array = larger;
    }
    this.array[this.length++] = value;
  }

  toArray(): A {
    return this.array.slice(0, this.length) as A;
  }
}

class GrowingFloats extends Growing<Float32Array> {
  protected array = new Float32Array(1 << 16);
  protected allocate = (length: number) => new Float32Array(length);
}

class GrowingInts extends Growing<Uint32Array> {
  protected array = new Uint32Array(1 << 16);
  protected allocate = (length: number) => new Uint32Array(length);
}
