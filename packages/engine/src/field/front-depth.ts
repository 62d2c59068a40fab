import { clamp } from '../base/interpolation.js';
import { neighbor } from './bilateral-filter.js';

/**
 * Neighbors whose fronts differ by more than this, where the box is 2 deep, belong to two parts: a cup's rim and the saucer
 * behind it. Fronts are not interpolated between parts, because threads as thin as the minimum thickness would join them.
 */
const maxFrontStep = 0.1;

/**
 * Moves each column's front to that of the nearer or of the farther part, where two parts meet. The network's own depth is
 * in between there, and would become a thread that joins them.
 */
export function withoutRamps(depth: Float32Array, matte: Float32Array, size: number): Float32Array {
  return depth.map((value, i) => {
    if (matte[i]! <= 0.5) return value;
    let [near, far] = [value, value];
    for (let n = 0; n < 9; n++) {
      const j = neighbor(i, n, size);
      if (matte[j]! <= 0.5) continue;
      near = Math.min(near, depth[j]!);
      far = Math.max(far, depth[j]!);
    }
    if (far - near <= 2 * maxFrontStep) return value;
    return value - near < far - value ? near : far;
  });
}

/**
 * Scales a depth map up from `size` to `finer` pixels a side, mixing only pixels inside the matte: a network's depth
 * outside the object is arbitrary, and mixing it in would stretch the rim of the surface.
 */
export function upsampleInside(depth: Float32Array, matte: Float32Array, size: number, finer: number): Float32Array {
  const weight = matte.map((coverage) => (coverage > 0.5 ? 1 : 1e-4 + 0.01 * coverage));
  const scaled = new Float32Array(finer * finer);
  for (let y = 0; y < finer; y++) {
    const v = ((y + 0.5) / finer) * 2 - 1;
    for (let x = 0; x < finer; x++) {
      const u = ((x + 0.5) / finer) * 2 - 1;
      scaled[y * finer + x] = sampleFront(depth, size, u, v, weight);
    }
  }
  return scaled;
}

/**
 * Interpolates the depth of the front at a position from -1 to 1, among those of the four samples around it that belong to
 * the part of the one that counts most.
 *
 * @param weight of each sample
 */
export function sampleFront(depth: Float32Array, size: number, u: number, v: number, weight?: Float32Array): number {
  const x = clamp(((u + 1) * size - 1) / 2, 0, size - 1);
  const y = clamp(((v + 1) * size - 1) / 2, 0, size - 1);
  const [left, top] = [Math.min(Math.floor(x), size - 2), Math.min(Math.floor(y), size - 2)];
  const first = top * size + left;
  let [part, most] = [0, -1];
  for (let corner = 0; corner < 4; corner++) {
    const i = first + (corner & 1) + size * (corner >> 1);
    const share = shareOf(corner, x - left, y - top) * (weight ? weight[i]! : 1);
    if (share > most) [part, most] = [depth[i]!, share];
  }
  let [sum, total] = [0, 0];
  for (let corner = 0; corner < 4; corner++) {
    const i = first + (corner & 1) + size * (corner >> 1);
    if (Math.abs(depth[i]! - part) > maxFrontStep) continue;
    const share = shareOf(corner, x - left, y - top) * (weight ? weight[i]! : 1);
    sum += share * depth[i]!;
    total += share;
  }
  return sum / total;
}

/** The bilinear weight of one of the four samples around a position, which is `right` and `down` from the first. */
const shareOf = (corner: number, right: number, down: number): number =>
  (corner & 1 ? right : 1 - right) * (corner & 2 ? down : 1 - down);
