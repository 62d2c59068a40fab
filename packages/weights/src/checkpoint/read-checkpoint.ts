import { type ByteSource, withFile } from './byte-source.js';
import { readPyTorch } from './pytorch.js';
import { readSafetensors } from './safetensors.js';
import type { TensorRecord } from './tensor-record.js';
import { CheckpointError } from './tensor-record.js';

/** A checkpoint's tensors by name. */
export type CheckpointIndex = ReadonlyMap<string, TensorRecord>;

/**
 * Reads the index of a checkpoint, a few hundred KB: of a safetensors file, or of a state dict that `torch.save` wrote.
 * Executes nothing in the file.
 *
 * @throws {CheckpointError} naming the file and why it cannot be used
 */
export async function readCheckpoint(path: string): Promise<CheckpointIndex> {
  try {
    return await withFile(path, readIndex);
  } catch (error) {
    if (error instanceof CheckpointError) throw new CheckpointError(`${path} cannot be used: ${error.message}`);
    throw error;
  }
}

/** @throws {CheckpointError} */
export async function readIndex(file: ByteSource): Promise<CheckpointIndex> {
  if (file.size < 16) throw new CheckpointError('it is too short for a checkpoint');
  const start = await file.read(0, 16);
  const tensors = await readerFor(start)(file);
  if (tensors.length === 0) throw new CheckpointError('it has no tensors');
  return new Map(tensors.map((tensor) => [tensor.name, tensor]));
}

function readerFor(start: Buffer): (file: ByteSource) => Promise<TensorRecord[]> {
  if (start.toString('latin1', 0, 4) === 'PK\x03\x04') return readPyTorch;
  if (start[8] === 0x7b) return readSafetensors;
  if (start[0] === 0x80) {
    throw new CheckpointError('PyTorch wrote it before version 1.6. Load it there and save it again');
  }
  if (start.toString('latin1').startsWith('version https://')) {
    throw new CheckpointError('it is a pointer of Git LFS, not the file itself');
  }
  throw new CheckpointError('it is neither a safetensors file nor a PyTorch checkpoint');
}
