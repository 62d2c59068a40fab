import { open } from 'node:fs/promises';
import { CheckpointError } from './tensor-record.js';

/** Reads any part of a file. */
export interface ByteSource {
  readonly size: number;
  /** @throws {CheckpointError} if the range is not inside the file */
  read(offset: number, length: number): Promise<Buffer>;
}

/** Opens a file while `use` runs. */
export async function withFile<T>(path: string, use: (source: ByteSource) => Promise<T>): Promise<T> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    return await use({
      size,
      async read(offset, length) {
        assertInside(size, offset, length);
        const bytes = Buffer.alloc(length);
        let filled = 0;
        while (filled < length) {
          const { bytesRead } = await file.read(bytes, filled, length - filled, offset + filled);
          if (bytesRead === 0) throw new CheckpointError('the file became shorter while it was read');
          filled += bytesRead;
        }
        return bytes;
      },
    });
  } finally {
    await file.close();
  }
}

/** @throws {CheckpointError} if the range is not inside a file of `size` bytes */
export function assertInside(size: number, offset: number, length: number): void {
  const isInside = Number.isSafeInteger(offset) && Number.isSafeInteger(length) && offset >= 0 && length >= 0;
  if (!isInside || offset + length > size) {
    throw new CheckpointError(`${length} bytes at ${offset} are outside the file, which has ${size}: it is cut short`);
  }
}
