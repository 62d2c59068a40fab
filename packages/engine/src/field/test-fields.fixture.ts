import { seededRandom } from '../random-cases.fixture.js';
import { ball, union } from '../surface/shapes.fixture.js';
import type { PointDecoder } from './boxed-field.js';
import { type DensityField, evaluateEach } from './density-field.js';
import { channelsLast, sampleTriplane } from './triplane.js';

type Density = (x: number, y: number, z: number) => number;

/** A field of a function over the cube of ±0.5. */
export const fieldOf = (density: Density, threshold = 0): DensityField => ({
  threshold,
  bounds: { min: [-0.5, -0.5, -0.5], max: [0.5, 0.5, 0.5] },
  camera: { distance: 3, halfTangent: 0.2 },
  elevation: undefined,
  projects: true,
  bumpyBehind: false,
  evaluate: evaluateEach(density),
});

/** A rod with round ends between two points. */
function rod(radius: number, from: readonly number[], to: readonly number[]): Density {
  const [ax, ay, az] = from as [number, number, number];
  const [dx, dy, dz] = to.map((end, axis) => end - from[axis]!) as [number, number, number];
  const squared = dx * dx + dy * dy + dz * dz;
  return (x, y, z) => {
    const t = Math.min(Math.max(((x - ax) * dx + (y - ay) * dy + (z - az) * dz) / squared, 0), 1);
    return radius - Math.hypot(x - ax - t * dx, y - ay - t * dy, z - az - t * dz);
  };
}

/** A disc of the given thickness, at right angles to (1, 2, 3). */
const plate =
  (thickness: number): Density =>
  (x, y, z) => {
    const along = (x + 2 * y + 3 * z) / Math.sqrt(14);
    return Math.min(thickness / 2 - Math.abs(along), 0.4 - Math.hypot(x, y, z));
  };

function blobs(count: number): Density {
  const next = seededRandom(7);
  const scattered = Array.from({ length: count }, () => [next() - 0.5, next() - 0.5, next() - 0.5].map((c) => 0.7 * c));
  return (x, y, z) => {
    let sum = -1;
    for (const [cx, cy, cz] of scattered as [number, number, number][]) {
      const squared = (x - cx) ** 2 + (y - cy) ** 2 + (z - cz) ** 2;
      sum += Math.exp(-squared / 0.004);
    }
    return sum;
  };
}

/** Shapes that coarse samples could miss, with parts of thickness `thin`. All are distances except the blobs. */
export const thinShapes = (thin: number): Record<string, Density> => ({
  rods: union(
    rod(thin / 2, [-0.4, -0.31, 0.02], [0.4, 0.33, 0.11]),
    rod(thin / 2, [0.013, -0.4, 0.017], [0.013, 0.4, 0.017]),
    rod(thin / 2, [-0.3, 0.21, -0.4], [-0.3, 0.21, 0.4]),
    ball(0.1, 0.3, -0.3, -0.3),
  ),
  plate: plate(thin),
  'plate with holes': (x, y, z) => {
    const holes = Math.min(Math.hypot(x - 0.15, y) - 0.05, Math.hypot(x + 0.1, y + 0.1) - thin);
    return Math.min(thin / 2 - Math.abs(z - 0.0123), 0.4 - Math.max(Math.abs(x), Math.abs(y)), holes);
  },
  'nested shells': (x, y, z) => {
    const radius = Math.hypot(x, y, z);
    return thin / 2 - Math.min(Math.abs(radius - 0.15), Math.abs(radius - 0.28));
  },
  blobs: blobs(12),
});

/**
 * A decoder like TripoSR's with random weights: a triplane of a few slow waves, and a small network whose last
 * activation is an exponential. Densities are 0 to thousands.
 */
export function randomTriplane(seed: number): { halfExtent: number; decoder: PointDecoder } {
  const [channels, size, hidden, halfExtent] = [2, 32, 8, 0.87];
  const next = seededRandom(seed);
  const signed = () => 2 * next() - 1;
  const sceneCodes = new Float32Array(3 * channels * size * size);
  for (let plane = 0; plane < sceneCodes.length; plane += size * size) {
    const waves = Array.from({ length: 3 }, () => [6 * signed(), 6 * signed(), 6 * next()] as const);
    for (let texel = 0; texel < size * size; texel++) {
      const [u, v] = [(texel % size) / size, Math.floor(texel / size) / size];
      for (const [a, b, phase] of waves) sceneCodes[plane + texel]! += Math.sin(a * u + b * v + phase);
    }
  }
  const triplane = channelsLast(sceneCodes, channels, size);
  const width = 3 * channels;
  const first = Float32Array.from({ length: hidden * width }, () => 0.5 * signed());
  const second = Float32Array.from({ length: hidden }, () => 3 * signed());
  const chunkSize = 4096;
  const features = new Float32Array(chunkSize * width);
  const density = new Float32Array(chunkSize);
  return {
    halfExtent,
    decoder: {
      chunkSize,
      async decode(points) {
        const count = points.length / 3;
        sampleTriplane(triplane, channels, size, points, halfExtent, features);
        for (let i = 0; i < count; i++) {
          let logit = 0;
          for (let h = 0; h < hidden; h++) {
            let sum = 0;
            for (let f = 0; f < width; f++) sum += first[h * width + f]! * features[i * width + f]!;
            // SiLU, as in TripoSR.
            logit += (second[h]! * sum) / (1 + Math.exp(-sum));
          }
          density[i] = Math.exp(logit + 2);
        }
        return { density: density.subarray(0, count), color: new Float32Array(3 * count) };
      },
    },
  };
}

export async function densitiesAt(field: Pick<DensityField, 'evaluate'>, points: Float32Array): Promise<Float32Array> {
  const densities = new Float32Array(points.length / 3);
  await field.evaluate(points, densities);
  return densities;
}
