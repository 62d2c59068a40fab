/**
 * A density sampled on a regular grid.
 *
 * Shape: `values` is Float32Array[nx·ny·nz], x fastest. Sample (i, j, k) is at `origin + cell · (i, j, k)`.
 */
export interface ScalarGrid {
  readonly values: Float32Array;
  readonly size: readonly [nx: number, ny: number, nz: number];
  readonly origin: readonly [x: number, y: number, z: number];
  readonly cell: number;
}
