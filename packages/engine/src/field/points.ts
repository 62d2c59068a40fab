import type { BoxDecoder } from '../bundle/manifest.js';
import type { FloatTensor, Session } from '../network/session.js';
import type { PointDecoder } from './boxed-field.js';

type PointsDecoder = Extract<BoxDecoder, { kind: 'points' }>;

/** Points a call. A graph that samples three planes of 40 channels holds about 1 kB for each. */
const defaultChunkSize = 32_768;

/** Leaves the sampling of the scene codes to the decoder's graph. */
export function pointsDecoder(decoder: PointsDecoder, session: Session, sceneCodes: FloatTensor): PointDecoder {
  const fixed = session.shapeOf(decoder.points)[1] ?? undefined;
  const ask = async (points: Float32Array) => {
    const answers = await session.run({
      [decoder.sceneCodes]: sceneCodes,
      [decoder.points]: { shape: [1, points.length / 3, 3], data: points },
    });
    return { density: answers.get(decoder.density)!, color: answers.get(decoder.color)! };
  };
  if (fixed === undefined) return { chunkSize: defaultChunkSize, decode: ask };
  // A graph exported for a fixed number of points takes no fewer: what is left of the last call stays in the array.
  const filled = new Float32Array(3 * fixed);
  return {
    chunkSize: fixed,
    decode(points) {
      filled.set(points);
      return ask(filled);
    },
  };
}
