export type Position = readonly [x: number, y: number];

/**
 * Computes the convex hull of positions: its corners in the order in which a path around it turns from +x to +y,
 * without positions in the middle of its sides. Sorts `positions`.
 *
 * @see Andrew, "Another Efficient Algorithm for Convex Hulls in Two Dimensions", 1979
 */
export function convexHull(positions: Position[]): Position[] {
  positions.sort((p, q) => p[0] - q[0] || p[1] - q[1]);
  return [...chainOf(positions), ...chainOf(positions.reverse())];
}

/** One side of the hull of positions that are sorted in one direction, without the last position. */
function chainOf(positions: readonly Position[]): Position[] {
  const chain: Position[] = [];
  for (const position of positions) {
    while (chain.length >= 2 && turn(chain.at(-2)!, chain.at(-1)!, position) <= 0) chain.pop();
    chain.push(position);
  }
  return chain.slice(0, -1);
}

const turn = (p: Position, q: Position, r: Position) => (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0]);
