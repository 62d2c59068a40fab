import { clamp, sampleSquare, smoothMin } from '../base/interpolation.js';
import { type DensityField, type Elevation, evaluateEach } from '../field/density-field.js';
import type { Density } from '../field/solids/solid.js';
import type { BentView } from './bend.js';
import { type Evidence, fusedEvidence, seamRounding } from './evidence.js';
import { liftAt, settle } from './settle.js';
import { seePoint } from './view-camera.js';

export interface FusedField extends DensityField {
  readonly elevation: Elevation;
  readonly densityAt: Density;
}

/** Fuses views to a field in the space of the front photo's camera: the evidence, with contradictions settled. */
export function fusedField(views: readonly BentView[], elevationRadians: number): FusedField {
  const { camera, view } = views[0]!;
  const evidenceAt = fusedEvidence(views);
  const found: Evidence = { outline: 0, others: 0 };
  const { lift, bounds } = settle(views);
  const { backColor, size } = view.prediction;
  const densityAt: Density = (x, y, z) => {
    evidenceAt(x, y, z, found);
    const others = clamp(found.others + liftAt(lift, x, y, z), -3, 6);
    return Math.max(smoothMin(found.outline, others, seamRounding), -3);
  };
  return {
    threshold: 0,
    camera: { distance: camera.distance, halfTangent: camera.halfTangent },
    elevation: { radians: elevationRadians, spreadRadians: 0 },
    projects: false,
    bumpyBehind: true,
    bounds,
    densityAt,
    evaluate: evaluateEach(densityAt),
    ...(backColor && {
      colorsRepeatFront: true,
      async evaluateColors(points: Float32Array, colors: Float32Array) {
        const seen = new Float64Array(4);
        for (let p = 0; p < points.length; p += 3) {
          seePoint(camera, points[p]!, points[p + 1]!, points[p + 2]!, seen);
          for (let c = 0; c < 3; c++) {
            colors[p + c] = sampleSquare(backColor, size, seen[0]!, seen[1]!, c * size * size);
          }
        }
      },
    }),
  };
}
