/** A ball that holds every point of `positions` [3·N]: the middle and half the diagonal of their bounding box. */
export interface Ball {
  readonly middle: readonly [number, number, number];
  readonly radius: number;
}

export function ballAround(positions: Float32Array): Ball {
  const low = [Infinity, Infinity, Infinity];
  const high = [-Infinity, -Infinity, -Infinity];
  for (let i = 0; i < positions.length; i++) {
    const axis = i % 3;
    low[axis] = Math.min(low[axis]!, positions[i]!);
    high[axis] = Math.max(high[axis]!, positions[i]!);
  }
  const half = (axis: number) => (high[axis]! - low[axis]!) / 2;
  return {
    middle: [low[0]! + half(0), low[1]! + half(1), low[2]! + half(2)],
    radius: Math.hypot(half(0), half(1), half(2)),
  };
}
