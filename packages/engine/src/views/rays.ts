import { centerOf, mapSize, newSample, sampleMap } from './map.js';
import { colorSize, type PreparedView } from './prepared-view.js';

/** Points of a view's relief, spread evenly over it. */
export interface ReliefPoints {
  readonly count: number;
  /** [N] positions in the frame. */
  readonly u: Float64Array;
  readonly v: Float64Array;
  /** [N] depths of the front and of the guessed back, in the network's units. */
  readonly front: Float64Array;
  readonly back: Float64Array;
  /** [N] how much the front counts. */
  readonly weight: Float64Array;
  /** [3·N] normals in the camera's frame, and colors. */
  readonly normal: Float64Array;
  readonly color: Float64Array;
}

/** Rays through a view's outline, which touch the object somewhere. */
export interface RimRays {
  readonly count: number;
  readonly u: Float64Array;
  readonly v: Float64Array;
  /** [N] p.z at which they touch it, as far as is known. Changes while cameras are sought. */
  readonly depth: Float64Array;
}

/** Points are at least this far inside the outline. */
const minInset = 0.008;

/** Even a front without trust counts a little. */
const minWeight = 0.15;

const positionOf = (pixel: number): [u: number, v: number] => [
  centerOf(pixel % mapSize, mapSize),
  centerOf(Math.floor(pixel / mapSize), mapSize),
];

export function reliefPoints(view: PreparedView, count: number): ReliefPoints {
  const { outline, front, back, trust, colors, halfWidth } = view;
  const inside: number[] = [];
  for (let i = 0; i < outline.length; i++) if (outline[i]! > minInset && !isOnBorder(i)) inside.push(i);
  const pixels = spread(inside, count);
  const list = (valueAt: (pixel: number) => number) => Float64Array.from(pixels, valueAt);
  const points: ReliefPoints = {
    count: pixels.length,
    u: list((i) => positionOf(i)[0]),
    v: list((i) => positionOf(i)[1]),
    front: list((i) => front[i]!),
    back: list((i) => back[i]!),
    weight: list((i) => minWeight + (1 - minWeight) * trust[i]!),
    normal: new Float64Array(3 * pixels.length),
    color: new Float64Array(3 * pixels.length),
  };
  const pixelSide = (2 * halfWidth) / mapSize;
  const sample = newSample();
  pixels.forEach((i, k) => {
    const slopeX = (front[i + 2]! - front[i - 2]!) / (4 * pixelSide);
    const slopeY = -(front[i + 2 * mapSize]! - front[i - 2 * mapSize]!) / (4 * pixelSide);
    const length = Math.hypot(slopeX, slopeY, 1);
    points.normal.set([-slopeX / length, -slopeY / length, 1 / length], 3 * k);
    for (let c = 0; c < 3; c++) {
      sampleMap(colors, colorSize, points.u[k]!, points.v[k]!, sample, c * colorSize * colorSize);
      points.color[3 * k + c] = sample.value;
    }
  });
  return points;
}

export function rimRays({ outline }: PreparedView, count: number): RimRays {
  const rim: number[] = [];
  for (let i = 0; i < outline.length; i++) {
    const pixels = (outline[i]! * mapSize) / 2;
    if (pixels > 0.5 && pixels <= 1.6) rim.push(i);
  }
  // By their angle around the middle, which spreads them along the outline.
  const angleOf = (pixel: number) => Math.atan2(...positionOf(pixel));
  const byAngle = rim.map((pixel) => ({ pixel, angle: angleOf(pixel) })).sort((a, b) => a.angle - b.angle);
  const pixels = spread(
    byAngle.map(({ pixel }) => pixel),
    count,
  );
  return {
    count: pixels.length,
    u: Float64Array.from(pixels, (i) => positionOf(i)[0]),
    v: Float64Array.from(pixels, (i) => positionOf(i)[1]),
    depth: new Float64Array(pixels.length),
  };
}

const isOnBorder = (pixel: number): boolean => {
  const [x, y] = [pixel % mapSize, Math.floor(pixel / mapSize)];
  return x < 2 || y < 2 || x > mapSize - 3 || y > mapSize - 3;
};

/** Takes evenly spaced elements of a list. An irrational step keeps them off the pattern of rows. */
function spread(list: readonly number[], count: number): number[] {
  if (list.length <= count) return [...list];
  const jitter = (k: number) => (k * 0.6180339887) % 1;
  return Array.from({ length: count }, (_, k) => list[Math.floor(((k + jitter(k)) / count) * list.length)]!);
}
