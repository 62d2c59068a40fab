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
  return wanted.map(({ name, shape }) => {
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
  if (dtype === to.dtype) return bytes;
  if (dtype !== 'F32') throw new BundleError(`The checkpoint's tensor "${name}" has the type ${dtype}, not float32`);
  // A copy, because a typed array needs an aligned buffer.
  const values = new Float32Array(Uint8Array.from(bytes).buffer);
  if (values.some((value) => Math.abs(value) > maxFloat16)) {
    throw new BundleError(`The checkpoint's tensor "${name}" has values beyond the range of half precision: use fp32`);
  }
  return new Uint8Array(toFloat16(values).buffer);
}

const maxFloat16 = 65_504;
