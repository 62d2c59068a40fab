import type { BoxDecoder, ReconstructionManifest } from '../bundle/manifest.js';
import type { CameralessField, Elevation } from './density-field.js';

export type BoxManifest = ReconstructionManifest & { readonly decoder: BoxDecoder };

/** A decoder bound to the scene codes of one photo. */
export interface PointDecoder {
  /** How many points a call may have at most. */
  readonly chunkSize: number;
  /** @param points [3·N] for N <= chunkSize, in ±halfExtent along the box's axes; the next call reuses the array */
  decode(points: Float32Array): Promise<Decoded>;
}

export interface Decoded {
  /** [N] */
  readonly density: Float32Array;
  /** [3·N] sRGB in 0..1, if the decoder has colors */
  readonly color?: Float32Array | undefined;
}

// exp() of a large logit is Infinity, and a vertex between two infinite samples would be NaN.
const maxDensity = 3.4e38;

/** Wraps a decoder of densities and colors inside a box in a field. */
export function boxedField(
  { decoder, threshold }: BoxManifest,
  { chunkSize, decode }: PointDecoder,
  elevation: Elevation | undefined,
): CameralessField {
  const { halfExtent } = decoder;
  const justBelow = threshold - 1e-3 * (Math.abs(threshold) || 1);
  const toBox = boxAxes(decoder);
  // A point outside is as far below the threshold as the nearest point inside is above it. So the surface runs along
  // the wall of the box, and the slope across the wall stays moderate for code that compares slopes.
  const outside = (density: number) => {
    if (density < threshold) return density;
    return Math.min(threshold > 0 ? (threshold * threshold) / density : 2 * threshold - density, justBelow);
  };
  const chunk = new Float32Array(3 * chunkSize);

  async function inChunks(points: Float32Array, use: (decoded: Decoded, start: number, end: number) => void) {
    const count = points.length / 3;
    for (let start = 0; start < count; start += chunkSize) {
      const end = Math.min(start + chunkSize, count);
      toBox(points.subarray(3 * start, 3 * end), chunk);
      use(await decode(chunk.subarray(0, 3 * (end - start))), start, end);
    }
  }

  return {
    threshold,
    bounds: { min: [-halfExtent, -halfExtent, -halfExtent], max: [halfExtent, halfExtent, halfExtent] },
    elevation,
    projects: true,
    bumpyBehind: false,
    evaluate: (points, density) =>
      inChunks(points, (decoded, start, end) => {
        for (let i = start, p = 3 * start; i < end; i++, p += 3) {
          const reach = Math.max(Math.abs(points[p]!), Math.abs(points[p + 1]!), Math.abs(points[p + 2]!));
          const value = Math.min(Math.max(decoded.density[i - start]!, -maxDensity), maxDensity);
          density[i] = reach > halfExtent ? outside(value) : value;
        }
      }),
    ...(decoder.kind !== 'steps' &&
      decoder.color !== undefined && {
        evaluateColors: (points: Float32Array, colors: Float32Array) =>
          inChunks(points, ({ color }, start, end) => colors.set(color!.subarray(0, 3 * (end - start)), 3 * start)),
      }),
  };
}

/**
 * Converts points [3·N] from the camera's space (X right, Y up, the camera on +Z) to the box's own axes. A point
 * outside the box is moved to the nearest point in it.
 */
function boxAxes({ up, front, halfExtent }: BoxDecoder): (from: Float32Array, to: Float32Array) => void {
  const [upAxis, upSign] = axisOf(up);
  const [frontAxis, frontSign] = axisOf(front);
  const rightAxis = 3 - upAxis - frontAxis;
  // right = up x front, as X = Y x Z: positive if front follows up in the cycle x, y, z, otherwise negative.
  const rightSign = upSign * frontSign * (frontAxis === (upAxis + 1) % 3 ? 1 : -1);
  const inside = (value: number) => Math.min(Math.max(value, -halfExtent), halfExtent);
  return (from, to) => {
    for (let p = 0; p < from.length; p += 3) {
      to[p + rightAxis] = inside(rightSign * from[p]!);
      to[p + upAxis] = inside(upSign * from[p + 1]!);
      to[p + frontAxis] = inside(frontSign * from[p + 2]!);
    }
  };
}

function axisOf(axis: BoxDecoder['up']): [index: number, sign: number] {
  return ['xyz'.indexOf(axis[1]!), axis[0] === '-' ? -1 : 1];
}
