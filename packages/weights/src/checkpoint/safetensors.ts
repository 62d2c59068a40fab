import { z } from 'zod';
import type { ByteSource } from './byte-source.js';
import { CheckpointError, type DType, elementCount, itemSizes, limits, type TensorRecord } from './tensor-record.js';

const Entry = z.object({
  dtype: z.string(),
  shape: z.array(z.int().nonnegative()),
  data_offsets: z.tuple([z.int().nonnegative(), z.int().nonnegative()]),
});

/** The file begins with the length of the JSON header, as a little-endian integer of this size. */
const prefixBytes = 8;

/**
 * Reads the index of a safetensors file.
 *
 * @see https://huggingface.co/docs/safetensors/index#format
 * @throws {CheckpointError} if it does not follow the format
 */
export async function readSafetensors(file: ByteSource): Promise<TensorRecord[]> {
  const headerBytes = (await file.read(0, prefixBytes)).readBigUInt64LE();
  if (headerBytes > limits.indexBytes) {
    throw new CheckpointError(`its header has ${headerBytes} bytes; at most ${limits.indexBytes} are read`);
  }
  const start = prefixBytes + Number(headerBytes);
  const header = parseHeader(await file.read(prefixBytes, Number(headerBytes)));
  const names = Object.keys(header).filter((name) => name !== '__metadata__');
  if (names.length > limits.tensors) throw new CheckpointError(`it has ${names.length} tensors`);
  const tensors = names.map((name) => toRecord(name, header[name], start, file.size));
  refuseOverlaps(tensors);
  return tensors;
}

function parseHeader(bytes: Buffer): Readonly<Record<string, unknown>> {
  let header: unknown;
  try {
    header = JSON.parse(bytes.toString('utf8'));
  } catch (cause) {
    throw new CheckpointError('its header is not valid JSON', { cause });
  }
  if (typeof header !== 'object' || header === null || Array.isArray(header)) {
    throw new CheckpointError('its header is not a JSON object');
  }
  return header as Readonly<Record<string, unknown>>;
}

function toRecord(name: string, value: unknown, start: number, fileSize: number): TensorRecord {
  const entry = Entry.safeParse(value);
  if (!entry.success) throw new CheckpointError(`the header's entry "${name}" does not describe a tensor`);
  const { dtype, shape, data_offsets } = entry.data;
  if (!isDType(dtype)) throw new CheckpointError(`"${name}" has the element type ${dtype}, which is not supported`);
  const [from, to] = data_offsets;
  const length = elementCount(shape, name) * itemSizes[dtype];
  if (to - from !== length) {
    throw new CheckpointError(`"${name}" should have ${length} bytes by its shape, and has ${to - from}`);
  }
  if (start + to > fileSize) {
    throw new CheckpointError(`"${name}" ends at ${start + to}, and the file has ${fileSize} bytes: it is cut short`);
  }
  return { name, dtype, shape, offset: start + from, length };
}

const isDType = (name: string): name is DType => Object.hasOwn(itemSizes, name);

function refuseOverlaps(tensors: readonly TensorRecord[]): void {
  const sorted = tensors.filter(({ length }) => length > 0).sort((a, b) => a.offset - b.offset);
  sorted.forEach((tensor, i) => {
    const previous = sorted[i - 1];
    if (previous && previous.offset + previous.length > tensor.offset) {
      throw new CheckpointError(`"${previous.name}" and "${tensor.name}" overlap`);
    }
  });
}
