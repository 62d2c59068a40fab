import { extentOf } from '../base/box.js';
import { frameScale } from '../base/camera.js';
import type { Cutout } from '../base/image.js';
import { sampleSquare, smoothMin } from '../base/interpolation.js';
import { matteChannel } from '../photo/frame.js';
import type { DensityField } from './density-field.js';
import { densityScale } from './density-field.js';
import { signedDistance } from './distance-transform.js';

/** Pixels a side of the outline. */
const outlineSize = 256;

/** Width in pixels of the band around the outline in which the photo's outline and the field are blended. */
const softPixels = 2;

/** Samples of the field along each axis, to estimate its slope. */
const probes = 12;

/**
 * Removes everything outside the outline of the cutout, seen from the field's camera, so that the silhouette of the
 * model is the photo's. It never adds anything.
 *
 * For decoders that are not given the outline (`points` and `planes`).
 */
export async function carve(field: DensityField, cutout: Cutout): Promise<DensityField> {
  const { camera, threshold, bounds } = field;
  const probed = await probe(field);
  const scale = densityScale(probed, threshold);
  // About as steep as the field itself, so that the cut neither forms a cliff nor blurs the outline.
  const meanDistance = probed.reduce((sum, density) => sum + Math.abs(scale.of(density)), 0) / probed.length;
  const slope = Math.max(meanDistance, Number.MIN_VALUE) / (extentOf(bounds) / 4);
  const pixel = (2 * camera.distance * camera.halfTangent) / outlineSize;
  const outline = signedDistance(matteChannel(cutout, outlineSize), outlineSize);
  const soft = softPixels * pixel * slope;
  return {
    ...field,
    async evaluate(points, density) {
      await field.evaluate(points, density);
      for (let i = 0, p = 0; i < density.length; i++, p += 3) {
        const across = 1 / frameScale(camera, points[p + 2]!);
        const inside = sampleSquare(outline, outlineSize, points[p]! * across, -points[p + 1]! * across);
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
