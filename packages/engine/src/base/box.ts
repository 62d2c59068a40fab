/** An axis-aligned box: corners `min` and `max`, each [x, y, z]. */
export interface Box {
  readonly min: readonly [number, number, number];
  readonly max: readonly [number, number, number];
}

/** Returns the length of a box's longest side. */
export const extentOf = ({ min, max }: Box): number => Math.max(max[0] - min[0], max[1] - min[1], max[2] - min[2]);

/** Computes the box around points [3·N], with `margin` more on each side. */
export function boxAround(points: Float32Array, margin = 0): Box {
  const min: [number, number, number] = [Infinity, Infinity, Infinity];
  const max: [number, number, number] = [-Infinity, -Infinity, -Infinity];
  for (let i = 0; i < points.length; i++) {
    const axis = (i % 3) as 0 | 1 | 2;
    min[axis] = Math.min(min[axis], points[i]! - margin);
    max[axis] = Math.max(max[axis], points[i]! + margin);
  }
  return { min, max };
}
