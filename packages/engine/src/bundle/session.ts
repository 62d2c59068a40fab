import { join } from 'node:path';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { BundleError, EngineError } from '../errors.js';
import { fromFloat16, toFloat16 } from './float16.js';
import type { Bundle } from './load-bundle.js';
import type { BoxDecoder, MatteManifest, ReconstructionManifest } from './manifest.js';

/** A tensor of an ONNX graph, float32 or float16; `null` stands for a size that is free. */
export interface TensorSpec {
  readonly name: string;
  readonly shape: readonly (number | null)[];
  /** Who says so, for the error; default: the manifest. */
  readonly says?: string;
}

/** Values in and out of a graph, in the row-major order of `shape`. A float16 graph's are converted. */
export interface FloatTensor {
  readonly shape: readonly number[];
  readonly data: Float32Array;
}

export interface SessionOptions {
  /** Threads inside one operator. Default 0: one per physical core. */
  readonly threads?: number;
}

/** A graph of a bundle, loaded and checked. Keep it: onnxruntime leaks when sessions are made again and again. */
export interface Session {
  /** The shape that the graph itself states for an input or output; empty if it states none. */
  shapeOf(name: string): TensorSpec['shape'];
  /** Runs the graph; the result has exactly the outputs the session was opened with. @throws {EngineError} inference_failed */
  run(inputs: Readonly<Record<string, FloatTensor>>): Promise<ReadonlyMap<string, Float32Array>>;
  release(): Promise<void>;
}

/** Opens the graph of a reconstruction bundle that turns the framed photo into what its decoder needs. */
export function openEncoder(bundle: Bundle<ReconstructionManifest>, options?: SessionOptions): Promise<Session> {
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
  } else {
    outputs.push({ name: decoder.sceneCodes, shape: [1, null, null, null, null] });
  }
  if (elevation) outputs.push({ name: elevation, shape: [1] });
  const inputs = [{ name: input.tensor, shape: [1, input.channels, size, size] }];
  return openSession(bundle, graph, inputs, outputs, options);
}

/**
 * Opens the graph that a `points` or `planes` decoder is asked through, and checks that it takes what the encoder gives.
 */
export function openDecoder(
  bundle: Bundle<ReconstructionManifest>,
  decoder: BoxDecoder,
  encoder: Session,
  options?: SessionOptions,
): Promise<Session> {
  const { graph, density, color } = decoder;
  if (decoder.kind === 'planes') {
    const inputs = [{ name: decoder.features, shape: [null, 3 * decoder.planeChannels] }];
    const outputs = [
      { name: density, shape: [null, 1] },
      { name: color, shape: [null, 3] },
    ];
    return openSession(bundle, graph, inputs, outputs, options);
  }
  const inputs = [
    { name: decoder.sceneCodes, shape: encoder.shapeOf(decoder.sceneCodes), says: `${bundle.manifest.graph} gives` },
    { name: decoder.points, shape: [1, null, 3] },
  ];
  const outputs = [
    { name: density, shape: [1, null, 1] },
    { name: color, shape: [1, null, 3] },
  ];
  return openSession(bundle, graph, inputs, outputs, options);
}

/** Opens the graph of a matting bundle. */
export function openMatting(bundle: Bundle<MatteManifest>, options?: SessionOptions): Promise<Session> {
  const { graph, input, output } = bundle.manifest;
  const { size } = input;
  const inputs = [{ name: input.tensor, shape: [1, 3, size, size] }];
  return openSession(bundle, graph, inputs, [{ name: output, shape: [1, 1, size, size] }], options);
}

/**
 * Opens one ONNX file of a bundle on the CPU and checks it against what the caller is going to feed and read.
 *
 * @throws {BundleError} if the runtime refuses the file, or a tensor is missing or has another shape or type
 */
export async function openSession(
  bundle: Bundle,
  file: string,
  inputs: readonly TensorSpec[],
  outputs: readonly TensorSpec[],
  options: SessionOptions = {},
): Promise<Session> {
  const path = join(bundle.directory, file);
  const session = await InferenceSession.create(path, {
    executionProviders: ['cpu'],
    graphOptimizationLevel: 'all',
    intraOpNumThreads: options.threads ?? 0,
    interOpNumThreads: 1,
    // The arena grows to the sum of what all layers ever held and never gives it back.
    enableCpuMemArena: false,
    enableMemPattern: false,
    // Idle workers that spin would take the cores from the process that answers the API.
    extra: { 'session.intra_op.allow_spinning': '0' },
    logSeverityLevel: 3,
  }).catch((cause: unknown) => {
    throw new BundleError(`${path} cannot be loaded by onnxruntime: ${reason(cause)}`, { cause });
  });
  check(path, 'input', inputs, session.inputMetadata);
  check(path, 'output', outputs, session.outputMetadata);

  const fetches = outputs.map(({ name }) => name);
  const halves = new Set(
    session.inputMetadata.filter((value) => value.isTensor && value.type === 'float16').map(({ name }) => name),
  );
  const stated = new Map(
    [...session.inputMetadata, ...session.outputMetadata].map((value) => [
      value.name,
      value.isTensor ? value.shape : [],
    ]),
  );
  return {
    shapeOf: (name) => (stated.get(name) ?? []).map((size) => (isOpen(size) ? null : size)),
    async run(values) {
      const feeds = Object.fromEntries(
        Object.entries(values).map(([name, { data, shape }]) => [
          name,
          halves.has(name) ? new Tensor('float16', toFloat16(data), shape) : new Tensor('float32', data, shape),
        ]),
      );
      const results = await session.run(feeds, fetches).catch((cause: unknown) => {
        throw new EngineError('inference_failed', `${bundle.manifest.name} failed on this photo: ${reason(cause)}`, {
          cause,
        });
      });
      for (const { name, shape } of outputs) {
        const found = results[name]?.dims ?? [];
        // A graph may leave its sizes open, and then only its answer tells.
        if (!fits(shape, found)) {
          throw new EngineError(
            'inference_failed',
            `${path}: output "${name}" came in the shape ${words(found)}, its manifest says ${words(shape)}`,
          );
        }
      }
      return new Map(fetches.map((name) => [name, float32(name, results[name])]));
    },
    release: () => session.release(),
  };
}

function check(
  path: string,
  role: 'input' | 'output',
  expected: readonly TensorSpec[],
  actual: readonly InferenceSession.ValueMetadata[],
): void {
  for (const { name, shape, says = 'its manifest says' } of expected) {
    const found = actual.find((value) => value.name === name);
    if (!found) {
      const names = actual.map((value) => value.name).join(', ');
      throw new BundleError(`${path} has no ${role} "${name}", which its manifest names; it has ${names}`);
    }
    if (!found.isTensor || (found.type !== 'float32' && found.type !== 'float16')) {
      const type = found.isTensor ? found.type : 'no tensor';
      throw new BundleError(`${path}: ${role} "${name}" must be float32 or float16, and is ${type}`);
    }
    if (!fits(shape, found.shape)) {
      throw new BundleError(`${path}: ${role} "${name}" has the shape ${words(found.shape)}, ${says} ${words(shape)}`);
    }
  }
}

/** A size the graph leaves open is a string, or -1; every size fits it. A graph that states no shape at all has []. */
function fits(expected: TensorSpec['shape'], actual: readonly (number | string)[]): boolean {
  if (actual.length === 0 || expected.length === 0) return true;
  return (
    actual.length === expected.length && actual.every((size, axis) => isOpen(size) || (expected[axis] ?? size) === size)
  );
}

const isOpen = (size: number | string): size is string => typeof size === 'string' || size < 0;

const words = (shape: readonly (number | string | null)[]) => `[${shape.map((size) => size ?? 'any').join(', ')}]`;

function float32(name: string, tensor: Tensor | undefined): Float32Array {
  // The runtime types `data` as every array it could hold; `type` is what tells them apart.
  if (tensor?.type === 'float32') return tensor.data as Float32Array;
  if (tensor?.type !== 'float16') throw new BundleError(`expected "${name}" to be float32, got ${tensor?.type}`);
  // A Float16Array where this Node has one, otherwise the bits.
  const { buffer, byteOffset, length } = tensor.data as Uint16Array<ArrayBuffer>;
  return fromFloat16(new Uint16Array(buffer, byteOffset, length));
}

const reason = (cause: unknown) => (cause instanceof Error ? cause.message : String(cause));
