import type { Charts } from './charts.js';

/** Marks the cells of a square grid that a chart touches. */
export interface Mask {
  /** The position of the grid's corner, in the units of `Charts.flat`. */
  readonly left: number;
  readonly top: number;
  /** The width in cells. */
  readonly width: number;
  readonly height: number;
  /** [3·R] row, first column and end column of each run of cells, row by row. */
  readonly runs: Int32Array;
  /** Number of cells in the runs. */
  readonly area: number;
}

/** Finds left, top, right and bottom of each chart [4·charts]. Coordinates that are not numbers count as 0. */
export function chartBounds({ chartOfTriangle, count, flat }: Charts): Float64Array {
  const bounds = new Float64Array(4 * count);
  for (let i = 0; i < bounds.length; i++) bounds[i] = i % 4 < 2 ? Infinity : -Infinity;
  for (let i = 0; i < flat.length; i += 2) {
    const x = Number.isFinite(flat[i]!) ? flat[i]! : 0;
    const y = Number.isFinite(flat[i + 1]!) ? flat[i + 1]! : 0;
    const b = 4 * chartOfTriangle[Math.floor(i / 6)]!;
    if (x < bounds[b]!) bounds[b] = x;
    if (y < bounds[b + 1]!) bounds[b + 1] = y;
    if (x > bounds[b + 2]!) bounds[b + 2] = x;
    if (y > bounds[b + 3]!) bounds[b + 3] = y;
  }
  return bounds;
}

/**
 * Finds the cells that each chart touches.
 *
 * @param bounds as `chartBounds` returns them
 * @param cell the side of a cell, in the units of `Charts.flat`
 * @param margin distance in cells along each axis, within which cells also belong to a chart
 */
export function masksOf(
  { chartOfTriangle, flat }: Charts,
  bounds: Float64Array,
  cell: number,
  margin: number,
): readonly Mask[] {
  const grids = Array.from({ length: bounds.length / 4 }, (_, chart) => gridAround(bounds, chart, cell, margin));
  const span = new Float64Array(2);
  for (let t = 0; t < chartOfTriangle.length; t++) {
    const { left, top, width, height, filled } = grids[chartOfTriangle[t]!]!;
    const ax = (flat[6 * t]! - left) / cell;
    const ay = (flat[6 * t + 1]! - top) / cell;
    const bx = (flat[6 * t + 2]! - left) / cell;
    const by = (flat[6 * t + 3]! - top) / cell;
    const cx = (flat[6 * t + 4]! - left) / cell;
    const cy = (flat[6 * t + 5]! - top) / cell;
    const first = Math.max(0, Math.floor(Math.min(ay, by, cy) - margin));
    const last = Math.min(height - 1, Math.floor(Math.max(ay, by, cy) + margin));
    for (let row = first; row <= last; row++) {
      span[0] = Infinity;
      span[1] = -Infinity;
      widen(span, ax, ay, bx, by, row - margin, row + 1 + margin);
      widen(span, bx, by, cx, cy, row - margin, row + 1 + margin);
      widen(span, cx, cy, ax, ay, row - margin, row + 1 + margin);
      const from = Math.max(0, Math.floor(span[0]! - margin));
      const to = Math.min(width - 1, Math.floor(span[1]! + margin));
      for (let column = from; column <= to; column++) filled[row * width + column] = 1;
    }
  }
  return grids.map(({ filled, ...grid }) => ({ ...grid, ...runsOf(filled, grid.width) }));
}

function gridAround(bounds: Float64Array, chart: number, cell: number, margin: number) {
  const left = bounds[4 * chart]! - margin * cell;
  const top = bounds[4 * chart + 1]! - margin * cell;
  const width = Math.floor((bounds[4 * chart + 2]! - left) / cell + margin) + 1;
  const height = Math.floor((bounds[4 * chart + 3]! - top) / cell + margin) + 1;
  return { left, top, width, height, filled: new Uint8Array(width * height) };
}

/** Widens `span`, the lowest and highest x, by the part of the edge from a to b with y in low..high. */
function widen(span: Float64Array, ax: number, ay: number, bx: number, by: number, low: number, high: number): void {
  if ((ay < low && by < low) || (ay > high && by > high)) return;
  const slope = ay === by ? 0 : (bx - ax) / (by - ay);
  const startX = ax + slope * (Math.min(Math.max(ay, low), high) - ay);
  const endX = bx + slope * (Math.min(Math.max(by, low), high) - by);
  span[0] = Math.min(span[0]!, startX, endX);
  span[1] = Math.max(span[1]!, startX, endX);
}

function runsOf(filled: Uint8Array, width: number): Pick<Mask, 'runs' | 'area'> {
  const runs: number[] = [];
  let area = 0;
  for (let start = 0; start < filled.length; start += width) {
    for (let column = 0; column < width; column++) {
      if (!filled[start + column]) continue;
      const first = column;
      while (column < width && filled[start + column]) column++;
      runs.push(start / width, first, column);
      area += column - first;
    }
  }
  return { runs: Int32Array.from(runs), area };
}
