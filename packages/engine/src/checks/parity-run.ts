import { BundleError } from '../base/errors.js';
import { type Bundle, bundleOfKind } from '../bundle/load-bundle.js';
import type { ManifestWithoutGraphs } from '../bundle/manifest.js';
import { type Difference, difference } from '../device/difference.js';
import type { ParityRun } from '../device/probe.js';
import type { Inputs, RunGraph } from '../field/decoder-kind.js';
import { randomNumbers } from '../field/decoder-kind.js';
import type { ComputeDevice } from '../network/compute-device.js';
import { type FloatTensor, localSessions, openMatting, type Session } from '../network/session.js';
import { kindOf } from '../reconstructor.js';

/** The outputs of one network, and its running time. */
interface NetworkRun {
  readonly outputs: ReadonlyMap<string, Float32Array>;
  /** How long the first run took, which also compiles shaders and allocates memory. */
  readonly firstMs: number;
  /** How long the last run took. */
  readonly ms: number;
}

/** Runs a bundle on a device and on the CPU. @throws the sessions' errors */
export async function compareWithCpu(bundle: Bundle, device: ComputeDevice, cpu: ComputeDevice): Promise<ParityRun> {
  const float = inFloat(bundle);
  const expected = await runBundle(float, cpu);
  // Both runs decode the CPU's scene codes, to keep an error of the encoder out of the decoder's result.
  const actual = await runBundle(float, device, { given: expected });
  return { difference: differenceBetween(expected, actual), ms: totalTimes(actual).ms };
}

/** Returns the bundle with its graph in floating point: one of 8 bits differs more than a wrong device may. */
function inFloat(bundle: Bundle): Bundle {
  const { manifest } = bundle;
  if (manifest.kind !== 'matte' || manifest.floatGraph === undefined) return bundle;
  return { ...bundle, manifest: { ...manifest, graph: manifest.floatGraph } };
}

/** Adds up the running times of all graphs. */
export const totalTimes = (networks: readonly NetworkRun[]): { ms: number; firstMs: number } => ({
  ms: networks.reduce((sum, { ms }) => sum + ms, 0),
  firstMs: networks.reduce((sum, { firstMs }) => sum + firstMs, 0),
});

function differenceBetween(expected: readonly NetworkRun[], actual: readonly NetworkRun[]): Difference {
  const differences = expected.map(({ outputs }, i) => difference(outputs, actual[i]!.outputs));
  return {
    rms: Math.max(...differences.map(({ rms }) => rms)),
    largest: Math.max(...differences.map(({ largest }) => largest)),
  };
}

interface RunOptions {
  /** The other networks get the outputs of this run as inputs. Default: those of the run itself. */
  readonly given?: readonly NetworkRun[];
  /** Number of runs of each graph. Default 2: the first run compiles shaders and allocates memory. */
  readonly runs?: number;
}

/** Runs all graphs of a bundle on the test image, and releases its sessions. */
export async function runBundle(
  bundle: Bundle,
  device: ComputeDevice,
  { given, runs = 2 }: RunOptions = {},
): Promise<readonly NetworkRun[]> {
  const { manifest } = bundle;
  if (manifest.kind === 'http') throw new BundleError(`${manifest.name} has no network that runs on this machine`);
  const open = localSessions({ device });
  const image = { [manifest.input.tensor]: testImage(manifest) };
  const networks: NetworkRun[] = [];
  const runGraph =
    (times: number): RunGraph =>
    async (session, inputs) => {
      const network = await timed(session, inputs, times);
      networks.push(network);
      return (given?.[networks.length - 1] ?? network).outputs;
    };
  if (manifest.kind === 'matte') {
    const session = await openMatting(bundleOfKind(bundle, 'matte'), open);
    await runGraph(runs)(session, image).finally(() => session.release());
    return networks;
  }
  const reconstruction = bundleOfKind(bundle, 'reconstruction');
  const kind = kindOf(reconstruction);
  // The first run of a large graph on a CPU is as fast as any other.
  const times = kind.inSteps && device.provider === 'cpu' ? 1 : runs;
  await kind.exercise(reconstruction, open, image, runGraph(times));
  return networks;
}

async function timed(session: Session, inputs: Inputs, runs: number): Promise<NetworkRun> {
  const times: number[] = [];
  for (;;) {
    const start = performance.now();
    const outputs = await session.run(inputs);
    times.push(performance.now() - start);
    if (times.length >= runs) return { outputs, firstMs: times[0]!, ms: times.at(-1)! };
  }
}

/**
 * Draws the test image, a striped, lit ball on a noisy ground, as the bundle's input. It contains an object for the
 * network to find, and is the same on every machine.
 */
function testImage({ input, kind }: ManifestWithoutGraphs): FloatTensor {
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
