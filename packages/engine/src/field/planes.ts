import type { BoxDecoder } from '../bundle/manifest.js';
import type { Session } from '../network/session.js';
import type { PointDecoder } from './boxed-field.js';

type PlanesDecoder = Extract<BoxDecoder, { kind: 'planes' }>;

/** Points a call: their features (480 bytes each with 40 channels) and the layers of a small network stay in the cache. */
const chunkSize = 8192;

/** Samples the three feature planes here and leaves only the small network behind them to the graph. */
export function planesDecoder(decoder: PlanesDecoder, session: Session, sceneCodes: Float32Array): PointDecoder {
  const { planeChannels, planeSize, halfExtent } = decoder;
  const planes = channelsLast(sceneCodes, planeChannels, planeSize);
  const features = new Float32Array(chunkSize * 3 * planeChannels);
  return {
    chunkSize,
    async decode(points) {
      const count = points.length / 3;
      samplePlanes(planes, planeChannels, planeSize, points, halfExtent, features);
      const shape = [count, 3 * planeChannels];
      const answers = await session.run({
        [decoder.features]: { shape, data: features.subarray(0, count * 3 * planeChannels) },
      });
      return { density: answers.get(decoder.density)!, color: answers.get(decoder.color)! };
    },
  };
}

/**
 * From [3, C, S, S] to [3, S + 2, S + 2, C]: the channels of a texel side by side, because they are read together, and
 * zeros around each plane, as PyTorch's `grid_sample` pads it.
 */
export function channelsLast(sceneCodes: Float32Array, channels: number, size: number): Float32Array {
  const side = size + 2;
  const planes = new Float32Array(3 * side * side * channels);
  for (let plane = 0, from = 0; plane < 3; plane++) {
    for (let channel = 0; channel < channels; channel++) {
      for (let y = 0; y < size; y++) {
        let to = ((plane * side + y + 1) * side + 1) * channels + channel;
        for (let x = 0; x < size; x++, to += channels) planes[to] = sceneCodes[from++]!;
      }
    }
  }
  return planes;
}

/**
 * Bilinear features of N points: `features` gets [N, 3·C], the planes (x, y), (x, z), (y, z) in this order; of each pair
 * the first runs along a plane's rows, the second down its columns.
 *
 * The same as `grid_sample(mode='bilinear', padding_mode='zeros', align_corners=False)`: ±halfExtent are the outer
 * edges of the outermost texels.
 * @param planes as `channelsLast` gives them
 * @param points [3·N], none beyond ±halfExtent
 */
export function samplePlanes(
  planes: Float32Array,
  channels: number,
  size: number,
  points: Float32Array,
  halfExtent: number,
  features: Float32Array,
): void {
  const side = size + 2;
  const row = side * channels;
  const scale = size / (2 * halfExtent);
  // The middle of the plane is between its texels; one more for the zeros around it.
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
          topLeft * planes[i]! +
          topRight * planes[i + channels]! +
          bottomLeft * planes[i + row]! +
          bottomRight * planes[i + row + channels]!;
      }
    }
  }
}
