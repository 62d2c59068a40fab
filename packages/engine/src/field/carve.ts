import type { Cutout } from '../base/image.js';
import { type DensityField, extentOf } from './density-field.js';
import { densityScale } from './density-scale.js';
import { signedDistance } from './distance-transform.js';
import { mattePlane } from './matte-plane.js';
import { sampleBilinear } from './plane.js';
import { smoothMin } from './smooth-min.js';

/** Pixels a side of the outline. */
const outlineSize = 256;

/** Pixels around the outline in which what the photo shows and what the network says are blended. */
const softPixels = 2;

/** Samples of the field along each axis by which its slope is judged. */
const probes = 12;

/**
 * Cuts away what the photo shows to be empty: whatever a field says outside the outline of the cut-out, seen from the
 * field's camera, so that the silhouette of the model is the photo's. It never adds anything.
 *
 * For fields that do not know the outline themselves (`points` and `planes`).
 */
export async function carve(field: DensityField, cutout: Cutout): Promise<DensityField> {
  const { camera, threshold, bounds } = field;
  const probed = await probe(field);
  const scale = densityScale(probed, threshold);
  // The cut is as steep as the field is, about, or it would be a cliff beside it, or a haze.
  const meanDistance = probed.reduce((sum, density) => sum + Math.abs(scale.of(density)), 0) / probed.length;
  const slope = Math.max(meanDistance, Number.MIN_VALUE) / (extentOf(bounds) / 4);
  const pixel = (2 * camera.distance * camera.halfTangent) / outlineSize;
  const outline = signedDistance(mattePlane(cutout, outlineSize), outlineSize);
  const soft = softPixels * pixel * slope;
  return {
    ...field,
    async evaluate(points, density) {
      await field.evaluate(points, density);
      for (let i = 0, p = 0; i < density.length; i++, p += 3) {
        const across = 1 / ((camera.distance - points[p + 2]!) * camera.halfTangent);
        const inside = sampleBilinear(outline, outlineSize, points[p]! * across, -points[p + 1]! * across);
        const cut = inside * pixel * slope;
        const distance = scale.of(density[i]!);
        if (distance <= cut - soft) continue;
        density[i] = scale.densityAt(smoothMin(distance, cut, soft));
      }
    },
  };
}

async function probe(field: DensityField): Promise<Float32Array> {
  const { min, max } = field.bounds;
  const points = new Float32Array(3 * probes ** 3);
  for (let i = 0; i < probes ** 3; i++) {
    const at = [i % probes, Math.floor(i / probes) % probes, Math.floor(i / probes ** 2)];
    for (let axis = 0; axis < 3; axis++) {
      points[3 * i + axis] = min[axis]! + ((at[axis]! + 0.5) / probes) * (max[axis]! - min[axis]!);
    }
  }
  const density = new Float32Array(probes ** 3);
  await field.evaluate(points, density);
  return density;
}
