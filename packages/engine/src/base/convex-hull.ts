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

/** A side of a convex polygon. `a·x + b·y + c` is the distance of a position that is inside. */
export interface Edge {
  readonly from: Position;
  readonly to: Position;
  readonly a: number;
  readonly b: number;
  readonly c: number;
}

/** Returns the sides of the convex hull of positions, which it sorts. */
export const hullOf = (positions: Position[]): Edge[] =>
  convexHull(positions).map((from, i, hull) => {
    const to = hull[(i + 1) % hull.length]!;
    const length = Math.hypot(to[0] - from[0], to[1] - from[1]) || 1e-9;
    const [a, b] = [(from[1] - to[1]) / length, (to[0] - from[0]) / length];
    return { from, to, a, b, c: -(a * from[0] + b * from[1]) };
  });

/** Returns the area inside an outline. */
export const areaOf = (edges: readonly Edge[]) =>
  edges.reduce((sum, { from, to }) => sum + (from[0] * to[1] - to[0] * from[1]) / 2, 0);

/** How far inside a convex outline a position is; negative outside. */
export function distanceInside(edges: readonly Edge[], x: number, y: number): number {
  let distance = Infinity;
  for (let i = 0; i < edges.length; i++) {
    const { a, b, c } = edges[i]!;
    const inside = a * x + b * y + c;
    if (inside < distance) distance = inside;
  }
  return distance;
}
