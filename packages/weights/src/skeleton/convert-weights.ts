import { type FileHandle, open } from 'node:fs/promises';
import { BundleError, toFloat16 } from '@gen3d/engine/bundles';
import { type ByteSource, withFile } from '../checkpoint/byte-source.js';
import type { CheckpointIndex } from '../checkpoint/read-checkpoint.js';
import { itemSizes, type TensorRecord } from '../checkpoint/tensor-record.js';
import { type MissingWeight, sameShape } from './skeleton.js';

/** Weights begin at multiples of a memory page, so that the file can be mapped and GPUs can copy from it. */
const alignment = 4096;
const chunkValues = 1024 * 1024;

/** Some execution providers fail with offsets that are not a multiple of this. PyTorch aligns to it. */
const requiredAlignment = 64;

export interface ConvertOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called with the share of the bytes written, 0..1. */
  readonly onProgress?: ((fraction: number) => void) | undefined;
}

/** Finds each weight in a checkpoint. @throws {BundleError} naming a weight that is missing or has another shape */
function findWeights(wanted: readonly MissingWeight[], index: CheckpointIndex): TensorRecord[] {
  return wanted.map((weight) => {
    const { name, shape } = isQuantized(weight) ? unquantized(weight) : weight;
    const found = index.get(name);
    if (!found) throw new BundleError(`The checkpoint has no tensor "${name}", which the network needs`);
    if (!sameShape(found.shape, shape)) {
      throw new BundleError(
        `The checkpoint's tensor "${name}" has the shape [${found.shape.join(', ')}], the network needs [${shape.join(', ')}]`,
      );
    }
    return found;
  });
}

/** Whether the weights must be written to a new file: in another precision, or at aligned offsets. */
export const needsConversion = (wanted: readonly MissingWeight[], index: CheckpointIndex): boolean =>
  findWeights(wanted, index).some(
    ({ dtype, offset }, i) => dtype !== wanted[i]!.dtype || offset % requiredAlignment !== 0,
  );

/**
 * Writes the weights of a network to a new file in the precision it needs. Uses a few MB of memory.
 *
 * @returns the index of the new file
 * @throws {BundleError} naming a weight that is missing, or has values beyond the range of its precision
 */
export async function convertWeights(
  checkpoint: string,
  index: CheckpointIndex,
  wanted: readonly MissingWeight[],
  output: string,
  { signal, onProgress }: ConvertOptions = {},
): Promise<CheckpointIndex> {
  const sources = findWeights(wanted, index);
  const targets = layOut(wanted);
  const total = Math.max(targets.at(-1)?.end ?? 0, 1);
  const file = await open(output, 'w');
  try {
    await withFile(checkpoint, async (source) => {
      for (const [i, target] of targets.entries()) {
        await convertTensor(source, sources[i]!, file, target, signal);
        onProgress?.(target.end / total);
      }
    });
    await file.sync();
  } finally {
    await file.close();
  }
  return new Map(targets.map((target) => [target.name, target]));
}

function layOut(wanted: readonly MissingWeight[]): Array<TensorRecord & { end: number }> {
  let offset = 0;
  return wanted.map(({ name, dtype, shape }) => {
    const length = shape.reduce((product, size) => product * size, 1) * itemSizes[dtype];
    const start = Math.ceil(offset / alignment) * alignment;
    offset = start + length;
    return { name, dtype, shape, offset: start, length, end: offset };
  });
}

async function convertTensor(
  source: ByteSource,
  from: TensorRecord,
  file: FileHandle,
  to: TensorRecord,
  signal: AbortSignal | undefined,
): Promise<void> {
  const count = from.length / itemSizes[from.dtype];
  for (let first = 0; first < count; first += chunkValues) {
    signal?.throwIfAborted();
    const values = Math.min(chunkValues, count - first);
    const start = to.offset + (first * to.length) / count;
    const bytes = await source.read(from.offset + first * itemSizes[from.dtype], values * itemSizes[from.dtype]);
    const converted = convert(bytes, from, to);
    await file.write(converted, 0, converted.length, start);
  }
}

function convert(bytes: Buffer, { name, dtype }: TensorRecord, to: TensorRecord): Uint8Array {
  if (dtype === to.dtype && !isQuantized(to)) return bytes;
  if (dtype !== 'F32') throw new BundleError(`The checkpoint's tensor "${name}" has the type ${dtype}, not float32`);
  // A copy, because a typed array needs an aligned buffer.
  const values = new Float32Array(Uint8Array.from(bytes).buffer);
  if (isQuantized(to)) {
    const { integers, scales } = quantize(values);
    return to.dtype === 'U8' ? integers : asBytes(scales);
  }
  if (values.some((value) => Math.abs(value) > maxFloat16)) {
    throw new BundleError(`The checkpoint's tensor "${name}" has values beyond the range of half precision: use fp32`);
  }
  return asBytes(toFloat16(values));
}

const maxFloat16 = 65_504;

const asBytes = ({ buffer, byteOffset, byteLength }: Float32Array | Uint16Array) =>
  new Uint8Array(buffer, byteOffset, byteLength);

/**
 * Values of a row that share a scale. With one scale for each, an outlier costs only its block precision. The graphs
 * are made for this size (models/lab/exporters/onnx_graph.py); onnxruntime is faster with it than with 32 or 64.
 */
const blockSize = 128;

/** A weight's scales are named after the weight, with this suffix. */
const suffix = '.scales';

/** A tensor of 8-bit integers, or their scales, as a graph with `MatMulNBits` takes them. */
interface QuantizedPart {
  readonly name: string;
  readonly dtype: string;
  /** Values have the shape [rows, blocks, values of a block], scales [rows, blocks]. */
  readonly shape: readonly number[];
}

export const isQuantized = ({ name, dtype }: QuantizedPart): boolean => dtype === 'U8' || name.endsWith(suffix);

/** Returns the name and shape of the checkpoint's tensor from which the weight and its scales are made. */
export function unquantized({ name, shape: [rows = 0, blocks = 0] }: QuantizedPart): {
  readonly name: string;
  readonly shape: readonly number[];
} {
  return { name: name.endsWith(suffix) ? name.slice(0, -suffix.length) : name, shape: [rows, blocks * blockSize] };
}

/**
 * Rounds whole blocks of values to multiples of their scale: value = (integer - 128) · scale.
 *
 * A block with NaN gets the scale NaN, so that the bundle's test finds it.
 */
export function quantize(values: Float32Array): { readonly integers: Uint8Array; readonly scales: Float32Array } {
  const integers = new Uint8Array(values.length);
  const scales = new Float32Array(values.length / blockSize);
  for (let block = 0; block < scales.length; block++) {
    const start = block * blockSize;
    let peak = 0;
    for (let i = start; i < start + blockSize; i++) peak = Math.max(peak, Math.abs(values[i]!));
    const scale = peak / 127;
    scales[block] = scale;
    for (let i = start; i < start + blockSize; i++) integers[i] = 128 + Math.round(values[i]! / (scale || 1));
  }
  return { integers, scales };
}
