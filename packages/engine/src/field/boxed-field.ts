import type { BoxDecoder, ReconstructionManifest } from '../bundle/manifest.js';
import type { CameralessField, Elevation } from './density-field.js';

export type BoxManifest = ReconstructionManifest & { readonly decoder: BoxDecoder };

/** A decoder with the scene codes of one photo at hand. */
export interface PointDecoder {
  /** Points a call takes at most. */
  readonly chunkSize: number;
  /**
   * Answers for N <= chunkSize points.
   *
   * @param points [3·N] in ±halfExtent, along the box's own axes; the array is used again for the next call
   */
  decode(points: Float32Array): Promise<Decoded>;
}

export interface Decoded {
  /** [N] */
  readonly density: Float32Array;
  /** [3·N] sRGB in 0..1 */
  readonly color: Float32Array;
}

// exp() of a large logit is Infinity, and a vertex between two infinite samples would be NaN.
const greatest = 3.4e38;

/** The field of a decoder that knows densities and colours inside a box, upright, the side that the photo shows towards +Z. */
export function boxedField(
  { decoder, threshold }: BoxManifest,
  { chunkSize, decode }: PointDecoder,
  elevation: Elevation | undefined,
): CameralessField {
  const { halfExtent } = decoder;
  const justBelow = threshold - 1e-3 * (Math.abs(threshold) || 1);
  const toBox = boxAxes(decoder);
  // Outside it is as much too thin as the nearest place inside is too dense: the surface then runs along the wall, and no
  // step down to nothing looks steep to whoever compares slopes.
  const outside = (density: number) => {
    if (density < threshold) return density;
    return Math.min(threshold > 0 ? (threshold * threshold) / density : 2 * threshold - density, justBelow);
  };
  const chunk = new Float32Array(3 * chunkSize);

  async function inChunks(points: Float32Array, take: (decoded: Decoded, start: number, end: number) => void) {
    const count = points.length / 3;
    for (let start = 0; start < count; start += chunkSize) {
      const end = Math.min(start + chunkSize, count);
      toBox(points.subarray(3 * start, 3 * end), chunk);
      take(await decode(chunk.subarray(0, 3 * (end - start))), start, end);
    }
  }

  return {
    threshold,
    bounds: { min: [-halfExtent, -halfExtent, -halfExtent], max: [halfExtent, halfExtent, halfExtent] },
    elevation,
    projects: true,
    evaluate: (points, density) =>
      inChunks(points, (decoded, start, end) => {
        for (let i = start, p = 3 * start; i < end; i++, p += 3) {
          const reach = Math.max(Math.abs(points[p]!), Math.abs(points[p + 1]!), Math.abs(points[p + 2]!));
          const value = Math.min(Math.max(decoded.density[i - start]!, -greatest), greatest);
          density[i] = reach > halfExtent ? outside(value) : value;
        }
      }),
    evaluateColors: (points, colors) =>
      inChunks(points, ({ color }, start, end) => colors.set(color.subarray(0, 3 * (end - start)), 3 * start)),
  };
}

/**
 * The way from the camera's space (X right, Y up, the camera on +Z) to the box's own axes, the nearest point of the box
 * for one outside: `to` gets what `from` holds, both [3·N].
 */
function boxAxes({ up, front, halfExtent }: BoxDecoder): (from: Float32Array, to: Float32Array) => void {
  const [upAxis, upSign] = axisOf(up);
  const [frontAxis, frontSign] = axisOf(front);
  const rightAxis = 3 - upAxis - frontAxis;
  // right = up x front, as X = Y x Z. In the order x, y, z, x two axes give the third, against it its opposite.
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
