import type { ByteSource } from './byte-source.js';
import { Call, Dict, Global, Persistent, readPickle, Tuple, type Value } from './pickle.js';
import { CheckpointError, type DType, elementCount, itemSizes, limits, type TensorRecord } from './tensor-record.js';
import { readZipDirectory, type ZipEntry } from './zip.js';

const rebuildTensor = 'torch._utils _rebuild_tensor_v2';
const rebuildParameter = 'torch._utils _rebuild_parameter';

const storageTypes: Readonly<Record<string, DType>> = {
  'torch DoubleStorage': 'F64',
  'torch FloatStorage': 'F32',
  'torch HalfStorage': 'F16',
  'torch BFloat16Storage': 'BF16',
  'torch LongStorage': 'I64',
  'torch IntStorage': 'I32',
  'torch ShortStorage': 'I16',
  'torch CharStorage': 'I8',
  'torch ByteStorage': 'U8',
  'torch BoolStorage': 'BOOL',
};

const globals = new Set(['collections OrderedDict', rebuildTensor, rebuildParameter, ...Object.keys(storageTypes)]);

/**
 * Reads the index of a state dict that `torch.save` wrote: a zip archive with a pickle and a record for each storage.
 *
 * The state dict may be the value of a key `state_dict`. Nothing in the file is executed.
 * @throws {CheckpointError} if the file is damaged or contains more than a state dict of contiguous tensors
 */
export async function readPyTorch(file: ByteSource): Promise<TensorRecord[]> {
  const entries = await readZipDirectory(file);
  const root = rootOf(entries);
  const byteOrder = entries.get(`${root}/byteorder`);
  if (byteOrder && (await readEntry(file, byteOrder)).toString('latin1') !== 'little') {
    throw new CheckpointError('its values are big-endian');
  }
  const pickle = readPickle(await readEntry(file, entries.get(`${root}/data.pkl`)!), globals);
  const tensors = stateDict(pickle);
  if (tensors.size > limits.tensors) throw new CheckpointError(`it has ${tensors.size} tensors`);
  const offsets = new Map<string, number>();
  const records: TensorRecord[] = [];
  for (const [name, tensor] of tensors) {
    const { dtype, shape, start, key, storageLength } = toTensor(name, tensor);
    const entry = entries.get(`${root}/data/${key}`);
    if (!entry) throw new CheckpointError(`the values of "${name}" are missing: there is no record ${key}`);
    if (entry.size !== storageLength) {
      throw new CheckpointError(`the record ${key} of "${name}" has ${entry.size} bytes instead of ${storageLength}`);
    }
    const offset = offsets.get(key) ?? (await entry.dataOffset());
    offsets.set(key, offset);
    const length = elementCount(shape, name) * itemSizes[dtype];
    if (start + length > entry.size) throw new CheckpointError(`"${name}" does not fit in its record ${key}`);
    records.push({ name, dtype, shape, offset: offset + start, length });
  }
  return records;
}

/** Returns the archive's top folder. */
function rootOf(entries: ReadonlyMap<string, ZipEntry>): string {
  const pickles = [...entries.keys()].filter((name) => /^[^/]+\/data\.pkl$/.test(name));
  if (pickles.length !== 1) throw new CheckpointError('it is a zip archive, but not one that torch.save wrote');
  return pickles[0]!.slice(0, -'/data.pkl'.length);
}

async function readEntry(file: ByteSource, entry: ZipEntry): Promise<Buffer> {
  if (entry.size > limits.indexBytes) {
    throw new CheckpointError(`"${entry.name}" has ${entry.size} bytes; at most ${limits.indexBytes} are read`);
  }
  return file.read(await entry.dataOffset(), entry.size);
}

function stateDict(value: Value): Map<string, Value> {
  const nested = value instanceof Dict ? value.entries.get('state_dict') : undefined;
  const dict = nested ?? value;
  if (!(dict instanceof Dict)) throw new CheckpointError('it does not contain a state dict');
  const tensors = new Map<string, Value>();
  for (const [name, tensor] of dict.entries) {
    if (typeof name !== 'string') throw new CheckpointError('its state dict has a key that is not a string');
    tensors.set(name, tensor);
  }
  return tensors;
}

function toTensor(name: string, value: Value) {
  const call = value instanceof Call && value.callee === rebuildParameter ? value.args[0] : value;
  if (!(call instanceof Call) || call.callee !== rebuildTensor) throw new CheckpointError(`"${name}" is not a tensor`);
  const [storage, storageOffset, size, stride] = call.args;
  const shape = integers(size);
  const strides = integers(stride);
  const { dtype, key, count } = toStorage(storage) ?? {};
  if (!shape || strides?.length !== shape.length || !isCount(storageOffset) || !dtype) {
    throw new CheckpointError(`the description of "${name}" is damaged`);
  }
  if (!isContiguous(shape, strides)) {
    throw new CheckpointError(`"${name}" is not contiguous: save it after .contiguous()`);
  }
  const itemSize = itemSizes[dtype];
  return { dtype, shape, key: key!, start: storageOffset * itemSize, storageLength: count! * itemSize };
}

/** Reads `('storage', torch.FloatStorage, key, device, number of elements)`. */
function toStorage(value: Value | undefined) {
  if (!(value instanceof Persistent) || !(value.id instanceof Tuple)) return undefined;
  const [tag, type, key, , count] = value.id.items;
  const dtype = type instanceof Global ? storageTypes[type.name] : undefined;
  return tag === 'storage' && dtype && typeof key === 'string' && isCount(count) ? { dtype, key, count } : undefined;
}

function integers(value: Value | undefined): number[] | undefined {
  if (!(value instanceof Tuple)) return undefined;
  const numbers = value.items.filter(isCount);
  return numbers.length === value.items.length ? numbers : undefined;
}

const isCount = (value: Value | undefined): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

/** Checks whether the elements are contiguous. The stride of an axis with one element does not matter. */
function isContiguous(shape: readonly number[], strides: readonly number[]): boolean {
  if (shape.includes(0)) return true;
  let expected = 1;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    if (shape[axis] !== 1 && strides[axis] !== expected) return false;
    expected *= shape[axis]!;
  }
  return true;
}
