import { BundleError } from '@gen3d/engine/bundles';

/** Element types, as named in safetensors, and their sizes in bytes. */
export const itemSizes = {
  F64: 8,
  F32: 4,
  F16: 2,
  BF16: 2,
  I64: 8,
  I32: 4,
  I16: 2,
  I8: 1,
  U8: 1,
  BOOL: 1,
} as const;
export type DType = keyof typeof itemSizes;

/** A tensor in a checkpoint. Its values are little-endian, row-major and contiguous. */
export interface TensorRecord {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** Where the tensor starts, in bytes from the start of the file. */
  readonly offset: number;
  /** The tensor's size in bytes. */
  readonly length: number;
}

/** Limits far above any real checkpoint, so that a hostile file cannot exhaust memory or time. */
export const limits = { indexBytes: 2 * 1024 * 1024, tensors: 10_000, rank: 16 };

/** Computes the number of elements. @throws {CheckpointError} if a size is not a count, or the product is too large */
export function elementCount(shape: readonly number[], name: string): number {
  if (shape.length > limits.rank) throw new CheckpointError(`"${name}" has ${shape.length} dimensions`);
  let count = 1;
  for (const size of shape) {
    count *= size;
    if (!Number.isSafeInteger(size) || size < 0 || !Number.isSafeInteger(count)) {
      throw new CheckpointError(`"${name}" has the impossible shape [${shape.join(', ')}]`);
    }
  }
  return count;
}

/**
 * A checkpoint that cannot be used. The message says why; `readCheckpoint` adds the path.
 *
 * Messages quote names from the file, which may be megabytes long and contain terminal escape sequences.
 */
export class CheckpointError extends BundleError {
  constructor(message: string, options?: ErrorOptions) {
    super(message.slice(0, 500).replace(/\p{Cc}/gu, '?'), options);
  }
}
