import type { BoxDecoder, StepsDecoder } from '../bundle/manifest.js';
import type { FloatTensor, Session } from '../network/session.js';
import type { PointDecoder } from './boxed-field.js';
import { exercisedRows, randomNumbers } from './decoder-kind.js';

type PointsDecoder = Extract<BoxDecoder, { kind: 'points' }>;

/** Points per call. A graph that samples three planes of 40 channels holds about 1 kB for each. */
const defaultChunkSize = 32_768;

/** Makes random points in the box, as many as the graph requires, for comparing devices. */
export function pointsOf({ points, halfExtent }: PointsDecoder | StepsDecoder, session: Session): FloatTensor {
  const random = randomNumbers();
  const count = session.shapeOf(points)[1] ?? exercisedRows;
  return {
    shape: [1, count, 3],
    data: Float32Array.from({ length: 3 * count }, () => (2 * random() - 1) * halfExtent),
  };
}

/** Decodes through a graph that samples the scene codes itself. */
export function pointsDecoder(
  decoder: PointsDecoder | StepsDecoder,
  session: Session,
  sceneCodes: FloatTensor,
): PointDecoder {
  const color = decoder.kind === 'points' ? decoder.color : undefined;
  const fixed = session.shapeOf(decoder.points)[1] ?? undefined;
  const decode = async (points: Float32Array) => {
    const outputs = await session.run({
      [decoder.sceneCodes]: sceneCodes,
      [decoder.points]: { shape: [1, points.length / 3, 3], data: points },
    });
    return {
      density: outputs.get(decoder.density)!,
      color: color === undefined ? undefined : outputs.get(color),
    };
  };
  if (fixed === undefined) {
    return { chunkSize: decoder.kind === 'steps' ? decoder.pointsPerCall : defaultChunkSize, decode };
  }
  // A graph exported for a fixed number of points takes exactly that many: the rest keeps the values of the last call.
  const filled = new Float32Array(3 * fixed);
  return {
    chunkSize: fixed,
    decode(points) {
      filled.set(points);
      return decode(filled);
    },
  };
}
