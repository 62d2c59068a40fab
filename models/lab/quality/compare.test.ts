import { expect, test } from 'vitest';
import { seededRandom } from '../random.mjs';
import { compare } from './compare.mjs';
import { KdTree } from './kd-tree.mjs';

test('the k-d tree finds the same points as an exhaustive search, also where many points coincide', () => {
  const random = seededRandom(7);
  const points = Float32Array.from({ length: 3 * 900 }, () => Math.round(random() * 12) / 12);
  const queries = Float32Array.from({ length: 3 * 200 }, () => 1.5 * random() - 0.25);
  const { ids, distances } = new KdTree(points).nearest(queries);
  for (let q = 0; q < 200; q++) {
    let minimum = Infinity;
    for (let p = 0; p < 900; p++) minimum = Math.min(minimum, distance(queries, q, points, p));
    expect(distances[q]).toBeCloseTo(minimum, 6);
    expect(distance(queries, q, points, ids[q]!)).toBeCloseTo(minimum, 6);
  }
});

test('a rotated, tilted, scaled and moved copy of the object is as close as another sampling of it', () => {
  const truth = painted(hook(6000, 1), [200, 100, 50]);
  const model = { ...painted(hook(6000, 2), [200, 100, 50]) };
  for (const [yaw, tilt] of [
    [1.2, 0.15],
    [-2.9, -0.3],
  ] as const) {
    model.positions = moved(hook(6000, 2), yaw, tilt);
    const { chamfer, fScores, colorSeen } = compare(model, truth, 1);
    expect(chamfer).toBeLessThan(0.025);
    expect(fScores[0]).toBeGreaterThan(0.98);
    expect(colorSeen).toBeLessThan(0.01);
  }
});

test('a missing part costs recall: the Chamfer distance grows and the F-score falls', () => {
  const truth = painted(hook(6000, 1), [128, 128, 128]);
  const whole = compare(painted(hook(6000, 2), [128, 128, 128]), truth, 1);
  const half = compare(painted(hook(6000, 2).slice(0, 9000), [128, 128, 128]), truth, 1);
  expect(half.chamfer).toBeGreaterThan(2 * whole.chamfer);
  expect(half.fScores[0]).toBeLessThan(whole.fScores[0]! - 0.1);
});

test('a uniformly darker model has no color error, and a model of another color has one', () => {
  const truth = painted(hook(3000, 1), [200, 100, 50]);
  expect(compare(painted(hook(3000, 2), [100, 50, 25]), truth, 1).colorSeen).toBeLessThan(0.01);
  // Brought to the same brightness, (117, 117, 117) is 83, 17 and 67 away.
  expect(compare(painted(hook(3000, 2), [90, 90, 90]), truth, 1).colorSeen).toBeCloseTo((83 + 17 + 67) / 3 / 255, 2);
});

test('points that the photo shows are distinguished from the others', () => {
  const truth = painted(hook(6000, 1), [10, 10, 10]);
  // The photo shows only the first arm, and the model has only that one.
  truth.seen.fill(0, 3000);
  const figures = compare(painted(hook(6000, 2).slice(0, 9000), [10, 10, 10]), truth, 1);
  expect(figures.chamferSeen).toBeLessThan(figures.chamferUnseen);
});

/** Points on two flat arms of unequal length that meet at a corner: only one rotation fits. */
function hook(count: number, seed: number): Float32Array {
  const random = seededRandom(seed);
  const points = new Float32Array(3 * count);
  for (let i = 0; i < count; i++) {
    const [along, across] = [random(), random()];
    if (i < count / 2) points.set([-0.6, 2 * along - 1, 0.4 * across - 0.2], 3 * i);
    else points.set([1.2 * along - 0.6, -1, 0.4 * across - 0.2], 3 * i);
  }
  return points;
}

function painted(positions: Float32Array, color: [number, number, number]) {
  const count = positions.length / 3;
  return {
    positions,
    colors: Uint8Array.from({ length: 3 * count }, (_, i) => color[i % 3]!),
    seen: new Uint8Array(count).fill(1),
  };
}

function moved(points: Float32Array, yaw: number, tilt: number): Float32Array {
  const result = points.slice();
  for (let i = 0; i < points.length; i += 3) {
    const [x, y, z] = [points[i]!, points[i + 1]!, points[i + 2]!];
    const [tiltedY, tiltedZ] = [Math.cos(tilt) * y - Math.sin(tilt) * z, Math.sin(tilt) * y + Math.cos(tilt) * z];
    const rotatedX = Math.cos(yaw) * x + Math.sin(yaw) * tiltedZ;
    result.set([rotatedX / 3 + 5, tiltedY / 3, (Math.cos(yaw) * tiltedZ - Math.sin(yaw) * x) / 3 - 1], i);
  }
  return result;
}

function distance(a: Float32Array, i: number, b: Float32Array, j: number): number {
  return Math.hypot(...[0, 1, 2].map((axis) => a[3 * i + axis]! - b[3 * j + axis]!));
}
