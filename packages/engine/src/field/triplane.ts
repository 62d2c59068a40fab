import type { BoxDecoder } from '../bundle/manifest.js';
import type { FloatTensor, Session } from '../network/session.js';
import type { PointDecoder } from './boxed-field.js';
import { exercisedRows, randomNumbers } from './decoder-kind.js';

type TriplaneDecoder = Extract<BoxDecoder, { kind: 'planes' }>;

/**
 * Points per call: their features (480 bytes each with 40 channels) and the layers of a small network fit in the cache.
 */
const chunkSize = 8192;

/** Rows of random features from a triplane, as many as the graph requires, for comparing devices. */
export function featuresOf(
  sceneCodes: Float32Array,
  { features, planeChannels }: TriplaneDecoder,
  session: Session,
): FloatTensor {
  const random = randomNumbers();
  const rows = session.shapeOf(features)[0] ?? exercisedRows;
  const codeAt = () => sceneCodes[Math.floor(random() * sceneCodes.length)]!;
  return { shape: [rows, 3 * planeChannels], data: Float32Array.from({ length: rows * 3 * planeChannels }, codeAt) };
}

/** Decodes by sampling the triplane here; the graph is only the small network behind it. */
export function triplaneDecoder(decoder: TriplaneDecoder, session: Session, sceneCodes: Float32Array): PointDecoder {
  const { planeChannels, planeSize, halfExtent } = decoder;
  const triplane = channelsLast(sceneCodes, planeChannels, planeSize);
  const features = new Float32Array(chunkSize * 3 * planeChannels);
  return {
    chunkSize,
    async decode(points) {
      const count = points.length / 3;
      sampleTriplane(triplane, planeChannels, planeSize, points, halfExtent, features);
      const shape = [count, 3 * planeChannels];
      const outputs = await session.run({
        [decoder.features]: { shape, data: features.subarray(0, count * 3 * planeChannels) },
      });
      return {
        density: outputs.get(decoder.density)!,
        color: decoder.color === undefined ? undefined : outputs.get(decoder.color),
      };
    },
  };
}

/**
 * Reorders [3, C, S, S] to [3, S + 2, S + 2, C]: the channels of a texel side by side, because they are read together,
 * and zeros around each plane, as PyTorch's `grid_sample` pads it.
 */
export function channelsLast(sceneCodes: Float32Array, channels: number, size: number): Float32Array {
  const side = size + 2;
  const triplane = new Float32Array(3 * side * side * channels);
  for (let plane = 0, from = 0; plane < 3; plane++) {
    for (let channel = 0; channel < channels; channel++) {
      for (let y = 0; y < size; y++) {
        let to = ((plane * side + y + 1) * side + 1) * channels + channel;
        for (let x = 0; x < size; x++, to += channels) triplane[to] = sceneCodes[from++]!;
      }
    }
  }
  return triplane;
}

/**
 * Samples the features of N points bilinearly into `features` [N, 3·C]: from the planes (x, y), (x, z) and (y, z) in
 * this order, the first axis along a plane's rows and the second down its columns.
 *
 * Equals `grid_sample(mode='bilinear', padding_mode='zeros', align_corners=False)`: ±halfExtent are the outer edges of
 * the outermost texels.
 * @param triplane as `channelsLast` returns it
 * @param points [3·N], none beyond ±halfExtent
 */
export function sampleTriplane(
  triplane: Float32Array,
  channels: number,
  size: number,
  points: Float32Array,
  halfExtent: number,
  features: Float32Array,
): void {
  const side = size + 2;
  const row = side * channels;
  const scale = size / (2 * halfExtent);
  // The middle of the plane is between its texels. One more texel for the zeros around it.
  const middle = size / 2 + 0.5;
  for (let p = 0, out = 0; p < points.length; p += 3) {
    const x = points[p]! * scale + middle;
    const y = points[p + 1]! * scale + middle;
    const z = points[p + 2]! * scale + middle;
    for (let plane = 0; plane < 3; plane++) {
      const u = plane === 2 ? y : x;
      const v = plane === 0 ? y : z;
      const column = Math.floor(u);
      const line = Math.floor(v);
      const right = u - column;
      const bottom = v - line;
      const topLeft = (1 - right) * (1 - bottom);
      const topRight = right * (1 - bottom);
      const bottomLeft = (1 - right) * bottom;
      const bottomRight = right * bottom;
      let i = ((plane * side + line) * side + column) * channels;
      for (const end = out + channels; out < end; out++, i++) {
        features[out] =
          topLeft * triplane[i]! +
          topRight * triplane[i + channels]! +
          bottomLeft * triplane[i + row]! +
          bottomRight * triplane[i + row + channels]!;
      }
    }
  }
}
