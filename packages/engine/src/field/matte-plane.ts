import type { Cutout } from '../base/image.js';
import { resample } from '../photo/resample.js';

/** The matte of a framed cut-out in 0..1, averaged down or interpolated up to [size·size]. */
export function mattePlane({ image }: Cutout, size: number): Float32Array {
  const { width, height, data } = image;
  const plane = new Float32Array(width * height);
  for (let i = 0; i < plane.length; i++) plane[i] = data[4 * i + 3]! / 255;
  return resample({ width, height, data: plane }, { left: 0, top: 0, side: width }, size, 0);
}
