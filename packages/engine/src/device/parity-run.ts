import { type Bundle, bundleOfKind } from '../bundle/load-bundle.js';
import type { Manifest, ReconstructionManifest } from '../bundle/manifest.js';
import { sceneCodesShape } from '../field/boxed.js';
import type { BoxManifest } from '../field/boxed-field.js';
import type { ComputeDevice } from '../network/compute-device.js';
import { type FloatTensor, openDecoder, openEncoder, openMatting, type Session } from '../network/session.js';
import { type Difference, difference } from './difference.js';

/** Points or rows a decoder is asked about, unless its graph takes another number. */
const decoderRows = 4096;

/** One network asked one thing: its answer and how long it took. */
interface Asked {
  readonly outputs: ReadonlyMap<string, Float32Array>;
  /** The first run, in which shaders are compiled and memory is taken, and the one after it. */
  readonly firstMs: number;
  readonly ms: number;
}

export interface ParityRun {
  readonly difference: Difference;
  /** One run of every graph of the bundle, after the first. */
  readonly ms: number;
  readonly firstMs: number;
  readonly cpuMs: number;
}

/** What a bundle answers to a picture that is the same everywhere, on one device. Its sessions are released. */
export interface Answers {
  readonly encoder: Asked;
  readonly decoder?: Asked;
}

/** Asks a bundle on a device and on the CPU. @throws what the sessions throw */
export async function compareWithCpu(bundle: Bundle, device: ComputeDevice, cpu: ComputeDevice): Promise<ParityRun> {
  const expected = await ask(bundle, cpu);
  // The decoder gets the CPU's scene codes on both, so that one wrong graph is not blamed on the other.
  const actual = await ask(bundle, device, { given: expected });
  return { difference: differenceBetween(expected, actual), ...times(actual), cpuMs: times(expected).ms };
}

export const times = ({ encoder, decoder }: Answers): { ms: number; firstMs: number } => ({
  ms: encoder.ms + (decoder?.ms ?? 0),
  firstMs: encoder.firstMs + (decoder?.firstMs ?? 0),
});

export function differenceBetween(expected: Answers, actual: Answers): Difference {
  const encoders = difference(expected.encoder.outputs, actual.encoder.outputs);
  if (!expected.decoder || !actual.decoder) return encoders;
  const decoders = difference(expected.decoder.outputs, actual.decoder.outputs);
  return { rms: Math.max(encoders.rms, decoders.rms), largest: Math.max(encoders.largest, decoders.largest) };
}

interface AskOptions {
  /** The run whose scene codes the decoder gets; default: this one's own. */
  readonly given?: Answers;
  /** How often each graph runs. Default 2: the first run compiles shaders and takes memory, and is not measured. */
  readonly runs?: number;
}

/** Runs every graph of a bundle. */
export async function ask(
  bundle: Bundle,
  device: ComputeDevice,
  { given, runs = 2 }: AskOptions = {},
): Promise<Answers> {
  const { manifest } = bundle;
  const image = { [manifest.input.tensor]: picture(manifest) };
  if (manifest.kind === 'matte') {
    const session = await openMatting(bundleOfKind(bundle, 'matte'), { device });
    return { encoder: await timed(session, image, runs).finally(() => session.release()) };
  }
  const model = bundleOfKind(bundle, 'reconstruction');
  const session = await openEncoder(model, { device });
  try {
    const encoder = await timed(session, image, runs);
    return isBoxed(model)
      ? { encoder, decoder: await askDecoder(model, device, session, given?.encoder ?? encoder, runs) }
      : { encoder };
  } finally {
    await session.release();
  }
}

async function askDecoder(
  bundle: Bundle<BoxManifest>,
  device: ComputeDevice,
  encoder: Session,
  { outputs }: Asked,
  runs: number,
): Promise<Asked> {
  const { decoder } = bundle.manifest;
  const codes = outputs.get(decoder.sceneCodes)!;
  const session = await openDecoder(bundle, decoder, encoder, { device });
  try {
    const random = randomNumbers();
    if (decoder.kind === 'planes') {
      const channels = 3 * decoder.planeChannels;
      const rows = session.shapeOf(decoder.features)[0] ?? decoderRows;
      const data = Float32Array.from({ length: rows * channels }, () => codes[Math.floor(random() * codes.length)]!);
      return await timed(session, { [decoder.features]: { shape: [rows, channels], data } }, runs);
    }
    const count = session.shapeOf(decoder.points)[1] ?? decoderRows;
    const data = Float32Array.from({ length: 3 * count }, () => (2 * random() - 1) * decoder.halfExtent);
    const inputs = {
      [decoder.sceneCodes]: { shape: sceneCodesShape(bundle, encoder, session), data: codes },
      [decoder.points]: { shape: [1, count, 3], data },
    };
    return await timed(session, inputs, runs);
  } finally {
    await session.release();
  }
}

const isBoxed = (bundle: Bundle<ReconstructionManifest>): bundle is Bundle<BoxManifest> =>
  bundle.manifest.decoder.kind !== 'columns';

async function timed(session: Session, inputs: Readonly<Record<string, FloatTensor>>, runs: number): Promise<Asked> {
  const times: number[] = [];
  for (;;) {
    const start = performance.now();
    const outputs = await session.run(inputs);
    times.push(performance.now() - start);
    if (times.length >= runs) return { outputs, firstMs: times[0]!, ms: times.at(-1)! };
  }
}

/**
 * A striped, lit ball on a noisy ground, as the bundle's graph takes it: something a network has an opinion about, and the
 * same on every machine.
 */
function picture({ input, kind }: Manifest): FloatTensor {
  const { size, mean, std } = input;
  const channels = kind === 'reconstruction' && 'channels' in input ? input.channels : 3;
  const count = size * size;
  const data = new Float32Array(channels * count);
  const random = randomNumbers();
  for (let i = 0; i < count; i++) {
    const x = (2 * (i % size)) / size - 1;
    const y = (2 * Math.floor(i / size)) / size - 1;
    const inside = x * x + y * y < 0.64;
    const light = inside ? 1 - 0.6 * Math.hypot(x + 0.3, y + 0.3) : 0.5 + 0.1 * random();
    const stripe = inside && Math.floor(6 * (y + 1)) % 2 === 0;
    for (let c = 0; c < 3; c++) {
      const byte = 255 * light * (stripe && c > 0 ? 0.4 : 1);
      data[c * count + i] = (byte - mean[c]!) / std[c]!;
    }
    if (channels === 4) data[3 * count + i] = inside ? 1 : 0;
  }
  return { shape: [1, channels, size, size], data };
}

/** Numbers in 0..1 that come in the same order every time. @see Numerical Recipes, 2nd edition, section 7.1 */
function randomNumbers(): () => number {
  let state = 1;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
