import { type Bundle, bundleOfKind } from '../bundle/load-bundle.js';
import type { BoxDecoder, Manifest, ReconstructionManifest } from '../bundle/manifest.js';
import { sceneCodesShape } from '../field/boxed.js';
import type { BoxManifest } from '../field/boxed-field.js';
import { normalNoise } from '../field/normal-noise.js';
import { filled, isSteps, type StepsManifest, stepInputs } from '../field/steps.js';
import type { ComputeDevice } from '../network/compute-device.js';
import {
  type FloatTensor,
  localSessions,
  openDecoder,
  openEncoder,
  openLatents,
  openMatting,
  openStep,
  type Session,
} from '../network/session.js';
import { type Difference, difference } from './difference.js';

/** Points or rows for a decoder, unless its graph requires another number. */
const decoderRows = 4096;

/** Latent tokens for a step graph that takes any number. A CPU would take a minute for the 2,048 of a large model. */
const stepTokens = 256;

/** The outputs of one network and its running time. */
interface NetworkRun {
  readonly outputs: ReadonlyMap<string, Float32Array>;
  /** The first run, which also compiles shaders and allocates memory. */
  readonly firstMs: number;
  /** The last run. */
  readonly ms: number;
}

export interface ParityRun {
  readonly difference: Difference;
  /** One run of all graphs of the bundle, after the first run. */
  readonly ms: number;
  readonly firstMs: number;
  readonly cpuMs: number;
}

/** The outputs of a bundle for the test image on one device. */
export interface BundleRun {
  readonly encoder: NetworkRun;
  readonly decoder?: NetworkRun;
  readonly step?: NetworkRun;
  readonly latents?: NetworkRun;
}

/** The networks that a bundle of this kind has. */
export const networksOf = ({ encoder, step, latents, decoder }: BundleRun): NetworkRun[] =>
  [encoder, step, latents, decoder].filter((network) => network !== undefined);

/** Runs a bundle on a device and on the CPU. @throws the sessions' errors */
export async function compareWithCpu(bundle: Bundle, device: ComputeDevice, cpu: ComputeDevice): Promise<ParityRun> {
  const expected = await runBundle(bundle, cpu);
  // Both runs decode the CPU's scene codes, to keep an error of the encoder out of the decoder's result.
  const actual = await runBundle(bundle, device, { given: expected });
  return { difference: differenceBetween(expected, actual), ...totalTimes(actual), cpuMs: totalTimes(expected).ms };
}

/** The running times of all graphs together. */
export const totalTimes = (run: BundleRun): { ms: number; firstMs: number } => ({
  ms: networksOf(run).reduce((sum, { ms }) => sum + ms, 0),
  firstMs: networksOf(run).reduce((sum, { firstMs }) => sum + firstMs, 0),
});

export function differenceBetween(expected: BundleRun, actual: BundleRun): Difference {
  const actualNetworks = networksOf(actual);
  const differences = networksOf(expected).map(({ outputs }, i) => difference(outputs, actualNetworks[i]!.outputs));
  return {
    rms: Math.max(...differences.map(({ rms }) => rms)),
    largest: Math.max(...differences.map(({ largest }) => largest)),
  };
}

interface RunOptions {
  /** The run whose outputs are the other networks' inputs. Default: this run. */
  readonly given?: BundleRun;
  /** Number of runs of each graph. Default 2: the first run compiles shaders and allocates memory. */
  readonly runs?: number;
}

/** Runs all graphs of a bundle on the test image, and releases its sessions. */
export async function runBundle(
  bundle: Bundle,
  device: ComputeDevice,
  { given, runs = 2 }: RunOptions = {},
): Promise<BundleRun> {
  const { manifest } = bundle;
  const image = { [manifest.input.tensor]: testImage(manifest) };
  if (manifest.kind === 'matte') {
    const session = await openMatting(bundleOfKind(bundle, 'matte'), localSessions({ device }));
    return { encoder: await timed(session, image, runs).finally(() => session.release()) };
  }
  const reconstruction = bundleOfKind(bundle, 'reconstruction');
  if (isSteps(reconstruction)) return runSteps(reconstruction, device, image, given, runs);
  const session = await openEncoder(reconstruction, localSessions({ device }));
  try {
    const encoder = await timed(session, image, runs);
    return isBoxed(reconstruction)
      ? { encoder, decoder: await runDecoder(reconstruction, device, session, given?.encoder ?? encoder, runs) }
      : { encoder };
  } finally {
    await session.release();
  }
}

/** Opens and releases one graph at a time, because together they may not fit into memory. */
async function runSteps(
  bundle: Bundle<StepsManifest>,
  device: ComputeDevice,
  image: Readonly<Record<string, FloatTensor>>,
  given: BundleRun | undefined,
  runs: number,
): Promise<BundleRun> {
  const { decoder } = bundle.manifest;
  const open = localSessions({ device });
  const run = (session: Session, inputs: Readonly<Record<string, FloatTensor>>) =>
    // The first run on a CPU is as fast as any other.
    timed(session, inputs, device.provider === 'cpu' ? 1 : runs).finally(() => session.release());

  const encoderSession = await openEncoder(bundle, open);
  const encoder = await run(encoderSession, image);
  const imageTokens = (given?.encoder ?? encoder).outputs.get(decoder.imageTokens)!;

  const stepSession = await openStep(bundle, decoder, encoderSession, open);
  const tokens = stepSession.shapeOf(decoder.step.latents)[1] ?? Math.min(stepTokens, decoder.tokens);
  const noise = {
    shape: [1, tokens, decoder.channels],
    data: normalNoise(decoder.sampler.seed, tokens * decoder.channels),
  };
  const middle = { timestep: decoder.sampler.timestepScale / 2, stepSize: 1 / decoder.sampler.steps };
  const step = await run(
    stepSession,
    stepInputs(decoder, noise, filled(encoderSession, decoder.imageTokens, imageTokens), middle),
  );

  const latentsSession = await openLatents(bundle, decoder, open);
  const latents = await run(latentsSession, { [decoder.latentsGraph.latents]: noise });
  const codes = (given?.latents ?? latents).outputs.get(decoder.sceneCodes)!;

  const pointsSession = await openDecoder(bundle, decoder, latentsSession, open);
  const points = await run(pointsSession, {
    [decoder.sceneCodes]: filled(latentsSession, decoder.sceneCodes, codes),
    [decoder.points]: randomPoints(decoder, pointsSession),
  });
  return { encoder, step, latents, decoder: points };
}

async function runDecoder(
  bundle: Bundle<BoxManifest>,
  device: ComputeDevice,
  encoder: Session,
  { outputs }: NetworkRun,
  runs: number,
): Promise<NetworkRun> {
  const { decoder } = bundle.manifest;
  const codes = outputs.get(decoder.sceneCodes)!;
  const session = await openDecoder(bundle, decoder, encoder, localSessions({ device }));
  try {
    if (decoder.kind === 'planes') {
      const random = randomNumbers();
      const channels = 3 * decoder.planeChannels;
      const rows = session.shapeOf(decoder.features)[0] ?? decoderRows;
      const data = Float32Array.from({ length: rows * channels }, () => codes[Math.floor(random() * codes.length)]!);
      return await timed(session, { [decoder.features]: { shape: [rows, channels], data } }, runs);
    }
    const inputs = {
      [decoder.sceneCodes]: { shape: sceneCodesShape(bundle, encoder, session), data: codes },
      [decoder.points]: randomPoints(decoder, session),
    };
    return await timed(session, inputs, runs);
  } finally {
    await session.release();
  }
}

function randomPoints(decoder: Exclude<BoxDecoder, { kind: 'planes' }>, session: Session): FloatTensor {
  const random = randomNumbers();
  const count = session.shapeOf(decoder.points)[1] ?? decoderRows;
  const data = Float32Array.from({ length: 3 * count }, () => (2 * random() - 1) * decoder.halfExtent);
  return { shape: [1, count, 3], data };
}

const isBoxed = (bundle: Bundle<ReconstructionManifest>): bundle is Bundle<BoxManifest> =>
  bundle.manifest.decoder.kind !== 'columns';

async function timed(
  session: Session,
  inputs: Readonly<Record<string, FloatTensor>>,
  runs: number,
): Promise<NetworkRun> {
  const times: number[] = [];
  for (;;) {
    const start = performance.now();
    const outputs = await session.run(inputs);
    times.push(performance.now() - start);
    if (times.length >= runs) return { outputs, firstMs: times[0]!, ms: times.at(-1)! };
  }
}

/**
 * The test image as the bundle's input: a striped, lit ball on a noisy ground. It has an object for the network to
 * find, and is the same on every machine.
 */
function testImage({ input, kind }: Manifest): FloatTensor {
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

/** Pseudo-random numbers in 0..1, the same in every run. @see Numerical Recipes, 2nd edition, section 7.1 */
function randomNumbers(): () => number {
  let state = 1;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
