import type { DensityField } from '../field/density-field.js';

/**
 * Gives a field without colors those of another reconstructor's field of the same cutout, at the same position of the
 * image.
 *
 * @param guide a field whose colors depend only on that position, as those of `columns`
 */
export function withColorsOf(guide: DensityField | undefined, field: DensityField): DensityField {
  const colorsOf = guide?.evaluateColors?.bind(guide);
  if (!guide || !colorsOf || field.evaluateColors) return field;
  const { distance, halfTangent } = field.camera;
  const halfWidth = guide.camera.distance * guide.camera.halfTangent;
  return {
    ...field,
    evaluateColors(points, colors) {
      // These points are on the plane through the guide's origin.
      const positions = new Float32Array(points.length);
      for (let p = 0; p < points.length; p += 3) {
        const scale = halfWidth / ((distance - points[p + 2]!) * halfTangent);
        positions[p] = points[p]! * scale;
        positions[p + 1] = points[p + 1]! * scale;
      }
      return colorsOf(positions, colors);
    },
  };
}
