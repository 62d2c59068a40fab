import type { Box } from '../../base/box.js';
import { type Camera, frameScale } from '../../base/camera.js';
import { sampleSquare } from '../../base/interpolation.js';
import { signedDistance } from '../distance-transform.js';
import type { Density, Outline } from './solid.js';

export const bounds: Box = { min: [-0.7, -0.7, -0.8], max: [0.7, 0.7, 0.8] };

/** The camera that the network assumes. */
export const assumed: Camera = { distance: 2.1, halfTangent: 0.29 };

/**
 * A photo by a camera, in which a network sees the same front in the space of the camera that it assumes.
 *
 * @param truth in the space of `camera`
 */
export function photographed(truth: Density, camera: Camera = assumed): { density: Density; outline: Outline } {
  const along = (u: number, v: number, z: number) => {
    const scale = frameScale(camera, z);
    return truth(u * scale, -v * scale, z);
  };
  const size = 128;
  const matte = Float32Array.from({ length: size * size }, (_, i) => {
    const [u, v] = [i % size, Math.floor(i / size)].map((pixel) => ((pixel + 0.5) * 2) / size - 1);
    for (let z = -0.8; z <= 0.8; z += 0.01) if (along(u!, v!, z) > 0) return 1;
    return 0;
  });
  const distances = signedDistance(matte, size);
  const distanceInside = (u: number, v: number) => (sampleSquare(distances, size, u, v) * 2) / size;
  return {
    density: (x, y, z) => {
      const scale = 1 / ((assumed.distance - z) * assumed.halfTangent);
      return along(x * scale, -y * scale, z);
    },
    outline: { camera: assumed, densityAt: (u, v) => distanceInside(u, v) * 32, distanceInside },
  };
}
