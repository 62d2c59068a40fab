/** The depth buffer of a view, as `rasterise` leaves it: Float32Array [width·height], Infinity where nothing was hit. */
export interface DepthMap {
  readonly width: number;
  readonly height: number;
  readonly depth: Float32Array;
}

/**
 * How much of a point the view sees, 0 hidden .. 1 in plain sight: the four pixels around [x, y] are compared with
 * `depth` and the answers mixed, not the depths, so that an edge becomes one pixel soft instead of a step.
 *
 * Units: x and y in pixels as `projectPoints` gives them; take the bias that keeps a surface from hiding itself off
 * `depth` beforehand. Outside the picture nothing is in the way: 1.
 */
export function visibleShare(map: DepthMap, x: number, y: number, depth: number): number {
  const column = Math.floor(x - 0.5);
  const row = Math.floor(y - 0.5);
  if (!(column >= 0 && row >= 0 && column < map.width - 1 && row < map.height - 1)) return 1;
  const right = x - 0.5 - column;
  const down = y - 0.5 - row;
  const pixel = row * map.width + column;
  const topShare = (depth <= map.depth[pixel]! ? 1 - right : 0) + (depth <= map.depth[pixel + 1]! ? right : 0);
  const bottomShare =
    (depth <= map.depth[pixel + map.width]! ? 1 - right : 0) + (depth <= map.depth[pixel + map.width + 1]! ? right : 0);
  return topShare * (1 - down) + bottomShare * down;
}
