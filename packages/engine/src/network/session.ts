import { join } from 'node:path';
import { BundleError, EngineError, errorMessage } from '../base/errors.js';
import type { Bundle } from '../bundle/load-bundle.js';
import type { BoxDecoder, MatteManifest, ReconstructionManifest } from '../bundle/manifest.js';
import { ComputeDevice } from './compute-device.js';
import { fromFloat16, toFloat16 } from './float16.js';
import { isOutOfMemory, LoadedNetworks, type NetworkKey } from './loaded-networks.js';
import { type FeedsType, InferenceSession, Tensor, type ValueMetadata } from './onnxruntime.js';

/** An expected tensor of an ONNX graph, float32 or float16. A size of `null` is any size. */
export interface TensorSpec {
  readonly name: string;
  readonly shape: readonly (number | null)[];
  /** Says for the error message where the shape was stated. Default: the manifest. */
  readonly says?: string;
}

/** Input or output values of a graph, in row-major order. Those of float16 tensors are converted. */
export interface FloatTensor {
  readonly shape: readonly number[];
  readonly data: Float32Array;
}

export interface SessionOptions {
  /** Threads per operator. Default 0: one per physical core. */
  readonly threads?: number;
  /** Shared by the sessions of one engine. Default: the CPU. */
  readonly device?: ComputeDevice;
  /** Shared by the sessions of one engine. */
  readonly networks?: LoadedNetworks;
}

/** A loaded and checked network. Reuse it: onnxruntime leaks memory with each new session. */
export interface Session {
  /** Returns the shape in the graph of an input or output. Empty if it has none. */
  shapeOf(name: string): TensorSpec['shape'];
  /**
   * Runs the network. The result has exactly the outputs with which the session was opened.
   * @throws {EngineError} inference_failed. Other errors are passed on, such as running out of memory
   */
  run(inputs: Readonly<Record<string, FloatTensor>>): Promise<ReadonlyMap<string, Float32Array>>;
  release(): Promise<void>;
}

/**
 * Opens an ONNX file of a bundle and checks its inputs and outputs.
 *
 * @throws {BundleError} if the runtime cannot load it, or a tensor is missing or has another shape or type
 */
export type OpenSession = (
  bundle: Bundle,
  file: string,
  inputs: readonly TensorSpec[],
  outputs: readonly TensorSpec[],
) => Promise<Session>;

/** Opens sessions in this thread, which share a device and its memory. */
export function localSessions(options: SessionOptions): OpenSession {
  const networks = new LoadedNetworks();
  return (...graph) => openSession(...graph, { networks, ...options });
}

/** Opens the encoder of a reconstruction bundle, whose input is the framed photo. */
export function openEncoder(bundle: Bundle<ReconstructionManifest>, open: OpenSession = openSession): Promise<Session> {
  const { graph, input, decoder, elevation } = bundle.manifest;
  const { size } = input;
  const outputs: TensorSpec[] = [];
  if (decoder.kind === 'columns') {
    const columns = decoder.size ?? size;
    outputs.push({ name: decoder.frontDepth, shape: [1, columns, columns] });
    outputs.push({ name: decoder.occupancy, shape: [1, decoder.steps, columns, columns] });
    if (decoder.color) outputs.push({ name: decoder.color, shape: [1, 3, columns, columns] });
  } else if (decoder.kind === 'planes') {
    const { planeChannels, planeSize } = decoder;
    outputs.push({ name: decoder.sceneCodes, shape: [1, 3, planeChannels, planeSize, planeSize] });
  } else if (decoder.kind === 'points') {
    outputs.push({ name: decoder.sceneCodes, shape: [1, null, null, null, null] });
  } else {
    outputs.push({ name: decoder.imageTokens, shape: [1, null, null] });
  }
  if (elevation) outputs.push({ name: elevation, shape: [1] });
  const inputs = [{ name: input.tensor, shape: [1, input.channels, size, size] }];
  return open(bundle, graph, inputs, outputs);
}

/**
 * Opens the graph that computes densities, and colors if there are any. Checks that it takes the scene codes.
 *
 * @param encoder the graph that gives the scene codes
 */
export function openDecoder(
  bundle: Bundle<ReconstructionManifest>,
  decoder: BoxDecoder,
  encoder: Session,
  open: OpenSession = openSession,
): Promise<Session> {
  const { graph, density } = decoder;
  const color = decoder.kind === 'steps' ? undefined : decoder.color;
  const encoderGraph = decoder.kind === 'steps' ? decoder.latentsGraph.graph : bundle.manifest.graph;
  if (decoder.kind === 'planes') {
    const inputs = [{ name: decoder.features, shape: [null, 3 * decoder.planeChannels] }];
    const outputs: TensorSpec[] = [{ name: density, shape: [null, 1] }];
    if (color) outputs.push({ name: color, shape: [null, 3] });
    return open(bundle, graph, inputs, outputs);
  }
  const inputs = [
    { name: decoder.sceneCodes, shape: encoder.shapeOf(decoder.sceneCodes), says: `${encoderGraph} gives` },
    { name: decoder.points, shape: [1, null, 3] },
  ];
  const outputs: TensorSpec[] = [{ name: density, shape: [1, null, 1] }];
  if (color) outputs.push({ name: color, shape: [1, null, 3] });
  return open(bundle, graph, inputs, outputs);
}

/** Opens the network of a matting bundle. Its graph accepts all sizes in the manifest. */
export function openMatting(bundle: Bundle<MatteManifest>, open: OpenSession = openSession): Promise<Session> {
  const { graph, input, output } = bundle.manifest;
  const { tensor: name, size, quick } = input;
  const inputs = [size, ...Object.values(quick ?? {})].map((side) => ({ name, shape: [1, 3, side, side] }));
  const outputSide = quick ? null : size;
  return open(bundle, graph, inputs, [{ name: output, shape: [1, 1, outputSide, outputSide] }]);
}

/** Checks the outputs of a run, because a graph may leave sizes open. */
function checkShapes(
  path: string,
  outputs: readonly TensorSpec[],
  results: Awaited<ReturnType<InferenceSession['run']>>,
): void {
  for (const { name, shape } of outputs) {
    const found = results[name]?.dims ?? [];
    if (fits(shape, found)) continue;
    throw inferenceFailed(`${path}: output "${name}" has the shape ${words(found)}, its manifest says ${words(shape)}`);
  }
}

/** Opens a session in this thread, as `OpenSession` specifies. */
export async function openSession(
  bundle: Bundle,
  file: string,
  inputs: readonly TensorSpec[],
  outputs: readonly TensorSpec[],
  { threads = 0, device = new ComputeDevice(), networks = new LoadedNetworks() }: SessionOptions = {},
): Promise<Session> {
  const path = join(bundle.directory, file);
  const keys = new Map<string, NetworkKey>();
  const isLarge = bundle.manifest.kind === 'reconstruction' && bundle.manifest.decoder.kind === 'steps';
  const withSession = <T>(provider: string, work: (session: InferenceSession) => Promise<T>): Promise<T> => {
    const key = keys.get(provider) ?? { provider, folder: bundle.directory };
    keys.set(provider, key);
    const loadIt = async () => {
      // Networks of several gigabytes are in memory one at a time on a CPU. Loading one takes seconds, and running it
      // minutes. A GPU keeps them all, unless its memory is too small.
      if (isLarge && provider === 'cpu') await networks.releaseOthers(key, ({ folder }) => folder === key.folder);
      return load(join(bundle.directory, graphFor(bundle, file, provider)), provider, threads);
    };
    return networks.use(key, loadIt, work);
  };
  const { inputMetadata, outputMetadata } = await device.attempt((provider) =>
    withSession(provider, async ({ inputMetadata, outputMetadata }) => ({ inputMetadata, outputMetadata })),
  );
  check(path, 'input', inputs, inputMetadata);
  check(path, 'output', outputs, outputMetadata);

  const fetches = outputs.map(({ name }) => name);
  const halves = new Set(
    inputMetadata.filter((value) => value.isTensor && value.type === 'float16').map(({ name }) => name),
  );
  const stated = new Map(
    [...inputMetadata, ...outputMetadata].map((value) => [value.name, value.isTensor ? value.shape : []]),
  );
  const runIn = async (session: InferenceSession, provider: string, feeds: FeedsType) => {
    // If the CPU does not take over, the cause may be the device or the photo.
    const mayBeDevice = isLarge && provider !== 'cpu';
    const results = await session.run(feeds, fetches).catch((cause: unknown) => {
      const detail = `${bundle.manifest.name} failed on ${provider}: ${errorMessage(cause)}`;
      // This is not an EngineError, because the photo is not the cause, and another attempt may succeed.
      throw mayBeDevice || isOutOfMemory(cause) ? new Error(detail, { cause }) : inferenceFailed(detail, cause);
    });
    checkShapes(path, outputs, results);
    const values = new Map(fetches.map((name) => [name, float32(name, results[name])]));
    // WebGPU only logs that it is out of memory, and returns the old content of the buffer.
    const blank = mayBeDevice ? blankOutput(values) : undefined;
    if (blank !== undefined)
      throw new Error(`${path}: output "${blank}" is all zeros. ${provider} may be out of memory`);
    return values;
  };
  const runOn = (provider: string, feeds: FeedsType) =>
    withSession(provider, (session) => runIn(session, provider, feeds));
  return {
    shapeOf: (name) => (stated.get(name) ?? []).map((size) => (isOpen(size) ? null : size)),
    run(values) {
      const feeds = Object.fromEntries(
        Object.entries(values).map(([name, { data, shape }]) => [
          name,
          halves.has(name) ? new Tensor('float16', toFloat16(data), shape) : new Tensor('float32', data, shape),
        ]),
      );
      return device.attempt(async (provider) => {
        const outputs = await runOn(provider, feeds);
        const blank = device.fallsBack ? blankOutput(outputs) : undefined;
        if (blank === undefined || blankOutput(await runOn('cpu', feeds)) === blank) return outputs;
        throw inferenceFailed(`${path}: output "${blank}" is empty`);
      });
    },
    async release() {
      // Sessions on a failed device are not released, because its driver may hang.
      const key = keys.get(device.provider);
      if (key) await networks.release(key);
      keys.clear();
    },
  };
}

/** Integers are faster than floats on CPUs only: other devices have no kernels for them. */
function graphFor({ manifest }: Bundle, file: string, provider: string): string {
  const float = manifest.kind === 'matte' && manifest.graph === file ? manifest.floatGraph : undefined;
  return provider === 'cpu' ? file : (float ?? file);
}

/**
 * The message is for the user who sent the photo. Paths, shapes and the runtime's message are in `cause`, for the log.
 */
const inferenceFailed = (detail: string, cause?: unknown) =>
  new EngineError('inference_failed', 'The network failed on this image.', { cause: new Error(detail, { cause }) });

async function load(path: string, provider: string, threads: number): Promise<InferenceSession> {
  return InferenceSession.create(path, {
    // In its default layout, NHWC, WebGPU's convolutions are wrong with few channels (docs/decisions.md).
    executionProviders: [provider === 'webgpu' ? { name: provider, preferredLayout: 'NCHW' } : provider],
    graphOptimizationLevel: 'all',
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    // The arena grows to the sum of the memory of all layers and never shrinks.
    enableCpuMemArena: false,
    enableMemPattern: false,
    // Spinning idle threads would take the cores from the API's process.
    extra: { 'session.intra_op.allow_spinning': '0' },
    logSeverityLevel: 3,
  }).catch((cause: unknown) => {
    throw new BundleError(`${path} cannot be loaded by onnxruntime: ${errorMessage(cause)}`, { cause });
  });
}

/** Finds the first output that is all zero or contains NaN, and returns its name. */
function blankOutput(outputs: ReadonlyMap<string, Float32Array>): string | undefined {
  for (const [name, values] of outputs) {
    if (values.every((value) => value === 0) || values.some(Number.isNaN)) return name;
  }
  return undefined;
}

function check(
  path: string,
  role: 'input' | 'output',
  expected: readonly TensorSpec[],
  actual: readonly ValueMetadata[],
): void {
  for (const { name, shape, says = 'its manifest says' } of expected) {
    const found = actual.find((value) => value.name === name);
    if (!found) {
      const names = actual.map((value) => value.name).join(', ');
      throw new BundleError(`${path} has no ${role} "${name}", which its manifest names; it has ${names}`);
    }
    if (!found.isTensor || (found.type !== 'float32' && found.type !== 'float16')) {
      const type = found.isTensor ? found.type : 'not a tensor';
      throw new BundleError(`${path}: ${role} "${name}" must be float32 or float16 but is ${type}`);
    }
    if (!fits(shape, found.shape)) {
      throw new BundleError(`${path}: ${role} "${name}" has the shape ${words(found.shape)}, ${says} ${words(shape)}`);
    }
  }
}

/** A size that the graph leaves open is a string or -1, and matches any size. A graph without a shape has []. */
function fits(expected: TensorSpec['shape'], actual: readonly (number | string)[]): boolean {
  if (actual.length === 0 || expected.length === 0) return true;
  return (
    actual.length === expected.length && actual.every((size, axis) => isOpen(size) || (expected[axis] ?? size) === size)
  );
}

const isOpen = (size: number | string): size is string => typeof size === 'string' || size < 0;

const words = (shape: readonly (number | string | null)[]) => `[${shape.map((size) => size ?? 'any').join(', ')}]`;

function float32(name: string, tensor: Tensor | undefined): Float32Array {
  // The runtime types `data` as a union of arrays; `type` tells which one it is.
  if (tensor?.type === 'float32') return tensor.data as Float32Array;
  if (tensor?.type !== 'float16') throw new BundleError(`expected "${name}" to be float32, got ${tensor?.type}`);
  // A Float16Array if this version of Node has it, otherwise the bits.
  const { buffer, byteOffset, length } = tensor.data as Uint16Array<ArrayBuffer>;
  return fromFloat16(new Uint16Array(buffer, byteOffset, length));
}
