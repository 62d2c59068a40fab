/** An axis-aligned box: corners `min` and `max`, each [x, y, z]. */
export interface Box {
  readonly min: readonly [number, number, number];
  readonly max: readonly [number, number, number];
}

/** Returns the length of a box's longest side. */
export const extentOf = ({ min, max }: Box): number => Math.max(max[0] - min[0], max[1] - min[1], max[2] - min[2]);

/** Computes the box around points [3·N], with `margin` more on each side. */
export function boxAround(points: Float32Array, margin = 0): Box {
  const min: [number, number, number] = [0, 0, 0];
  const max: [number, number, number] = [0, 0, 0];
  for (const axis of [0, 1, 2] as const) {
    let [low, high] = [Infinity, -Infinity];
    for (let i = axis; i < points.length; i += 3) {
      low = Math.min(low, points[i]!);
      high = Math.max(high, points[i]!);
    }
    min[axis] = low - margin;
    max[axis] = high + margin;
  }
  return { min, max };
}

/** Computes the box around two boxes. */
export const boxAroundBoth = ({ min: a, max: b }: Box, { min, max }: Box): Box => ({
  min: [Math.min(a[0], min[0]), Math.min(a[1], min[1]), Math.min(a[2], min[2])],
  max: [Math.max(b[0], max[0]), Math.max(b[1], max[1]), Math.max(b[2], max[2])],
});
