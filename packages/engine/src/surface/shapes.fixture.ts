import type { TriangleMesh } from '../base/mesh.js';
import type { ScalarGrid } from '../field/sample-grid.js';
import { marchingCubes } from './marching-cubes.js';

/** Makes a grid over -1..1 with `n` samples a side and its border forced outside. */
export function gridOf(n: number, density: (x: number, y: number, z: number) => number): ScalarGrid {
  const cell = 2 / (n - 1);
  const values = new Float32Array(n ** 3);
  for (let k = 0; k < n; k++) {
    for (let j = 0; j < n; j++) {
      for (let i = 0; i < n; i++) {
        const border = [i, j, k].some((index) => index === 0 || index === n - 1);
        values[i + n * (j + n * k)] = border ? -1 : density(-1 + i * cell, -1 + j * cell, -1 + k * cell);
      }
    }
  }
  return { values, size: [n, n, n], origin: [-1, -1, -1], cell };
}

export const meshOf = (n: number, density: (x: number, y: number, z: number) => number): TriangleMesh =>
  marchingCubes(gridOf(n, density), 0);

export const ball =
  (radius: number, cx = 0, cy = 0, cz = 0) =>
  (x: number, y: number, z: number) =>
    radius - Math.hypot(x - cx, y - cy, z - cz);

/** Makes a tube of the given thickness around a circle in the x-y plane. */
export const torus = (radius: number, thickness: number) => (x: number, y: number, z: number) =>
  thickness - Math.hypot(Math.hypot(x, y) - radius, z);

type Density = (x: number, y: number, z: number) => number;
type Triple = readonly [x: number, y: number, z: number];

export const block =
  (center: Triple, half: Triple): Density =>
  (x, y, z) =>
    Math.min(half[0] - Math.abs(x - center[0]), half[1] - Math.abs(y - center[1]), half[2] - Math.abs(z - center[2]));

export const union =
  (...shapes: readonly Density[]): Density =>
  (x, y, z) =>
    Math.max(...shapes.map((shape) => shape(x, y, z)));
