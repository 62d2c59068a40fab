import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BundleError } from '@gen3d/engine/bundles';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../../engine/src/temporary-folder.fixture.js';
import { readCheckpoint } from './read-checkpoint.js';
import { itemSizes } from './tensor-record.js';

const samples = join(import.meta.dirname, 'samples.fixture');

const sample = (name: string) => readFile(join(samples, name));

async function readBytes(bytes: Uint8Array) {
  const path = join(temporaryFolder(), 'weights');
  await writeFile(path, bytes);
  return readCheckpoint(path);
}

/** The values of a float32 tensor, read at the offset of the index. */
async function floats(file: string, name: string): Promise<number[]> {
  const { offset, length } = (await readCheckpoint(join(samples, file))).get(name)!;
  const bytes = (await sample(file)).subarray(offset, offset + length);
  return Array.from({ length: length / 4 }, (_, i) => bytes.readFloatLE(4 * i));
}

describe.each(['layers.ckpt', 'protocol-4.ckpt', 'layers.safetensors'])('%s', (file) => {
  test('has every tensor with its type and shape', async () => {
    const index = await readCheckpoint(join(samples, file));
    const shapes = [...index.values()].map(({ name, dtype, shape }) => `${name} ${dtype} [${shape}]`);
    expect(shapes.sort()).toEqual(['0.bias F32 [4]', '0.weight F32 [4,3]', '1.bias F32 [4]', '1.weight F32 [4]']);
  });

  test('has the values at the offsets of the index', async () => {
    expect(await floats(file, '0.weight')).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    expect(await floats(file, '1.bias')).toEqual([0, 1, 2, 3]);
  });
});

test('a nested state dict may have parameters, scalars, half precision and tensors that share values', async () => {
  const index = await readCheckpoint(join(samples, 'nested.ckpt'));
  expect(Object.fromEntries([...index.values()].map(({ name, dtype, shape }) => [name, [dtype, ...shape]]))).toEqual({
    parameter: ['F32', 2, 2],
    scalar: ['I64'],
    half: ['F16', 6, 2],
    tied: ['F16', 6, 2],
    rows: ['F16', 2, 2],
    column: ['F16', 6, 1],
    empty: ['F32', 0, 5],
    brain: ['BF16', 1, 3],
  });
  expect(index.get('tied')!.offset).toBe(index.get('half')!.offset);
  expect(index.get('rows')!.offset).toBe(index.get('half')!.offset + 2 * 2 * itemSizes.F16);
});

describe('a PyTorch file is refused', () => {
  test.each([
    [
      'module.ckpt',
      /names "__main__\.|names "torch\.nn\.modules\.container\.Sequential", which a state dict does not need/,
    ],
    ['transposed.ckpt', '"transposed" is not contiguous: save it after .contiguous()'],
    ['before-1.6.ckpt', 'PyTorch wrote it before version 1.6'],
  ])('%s', async (file, message) => {
    await expect(readCheckpoint(join(samples, file))).rejects.toThrow(message);
    await expect(readCheckpoint(join(samples, file))).rejects.toThrow(BundleError);
  });

  test('if its pickle calls a function, which is not executed', async () => {
    const bytes = await sample('layers.ckpt');
    const at = bytes.indexOf('ccollections\nOrderedDict\n');
    bytes.write('cos\nsystem\n'.padEnd(25, '.'), at, 'latin1');
    await expect(readBytes(bytes)).rejects.toThrow('its pickle names "os.system", which a state dict does not need');
  });

  test.each([
    ['compressed', 10, 8, 'is compressed'],
    ['too long', 24, 0x7fffffff, 'its zip archive is damaged: compressed/uncompressed size mismatch'],
    ['without the zip64 field it needs', 24, 0xffffffff, 'its zip archive is damaged: '],
    ['at the offset of another', 42, 0, 'overlaps the next one'],
    ['beyond the end', 42, 0x7fffffff, 'overlaps the next one'],
  ])('with a record that is %s', async (_, field, value, message) => {
    const bytes = await sample('layers.ckpt');
    const record = bytes.lastIndexOf('layers/data/0') - 46;
    if (field < 12) bytes.writeUInt16LE(value, record + field);
    else bytes.writeUInt32LE(value, record + field);
    await expect(readBytes(bytes)).rejects.toThrow(message);
  });

  test('with an encrypted record, which is 12 bytes longer', async () => {
    const bytes = await sample('layers.ckpt');
    const record = bytes.lastIndexOf('layers/data/0') - 46;
    bytes.writeUInt16LE(1, record + 8);
    bytes.writeUInt32LE(bytes.readUInt32LE(record + 20) + 12, record + 20);
    await expect(readBytes(bytes)).rejects.toThrow('is encrypted');
  });

  test('with another name in the header of a record', async () => {
    const bytes = await sample('layers.ckpt');
    bytes.write('layers/data/9', bytes.indexOf('layers/data/0'), 'latin1');
    await expect(readBytes(bytes)).rejects.toThrow('is called "layers/data/9" in its own header');
  });

  test('if it is cut short anywhere', async () => {
    const bytes = await sample('layers.ckpt');
    for (let length = 0; length < bytes.length; length += 37) {
      await expect(readBytes(bytes.subarray(0, length))).rejects.toThrow(BundleError);
    }
  });

  test('if it is another zip archive', async () => {
    const bytes = await sample('layers.ckpt');
    const renamed = Buffer.from(bytes.toString('latin1').replaceAll('/data.pkl', '/data.txt'), 'latin1');
    await expect(readBytes(renamed)).rejects.toThrow('a zip archive, but not one that torch.save wrote');
  });

  test('if it is big-endian', async () => {
    const bytes = await sample('layers.ckpt');
    bytes.write('bigend', bytes.indexOf('little'), 'latin1');
    await expect(readBytes(bytes)).rejects.toThrow('its values are big-endian');
  });
});

describe('a safetensors file is refused', () => {
  const twoTensors = {
    a: { dtype: 'F32', shape: [2], data_offsets: [0, 8] },
    b: { dtype: 'F32', shape: [2], data_offsets: [8, 16] },
  };
  test.each<[string, object | string, string]>([
    ['that ends early', { ...twoTensors, b: { ...twoTensors.b, data_offsets: [16, 24] } }, 'it is cut short'],
    ['whose tensors overlap', { ...twoTensors, b: { ...twoTensors.b, data_offsets: [4, 12] } }, '"a" and "b" overlap'],
    ['whose shape and length differ', { a: { ...twoTensors.a, shape: [3] } }, 'should have 12 bytes by its shape'],
    ['with a negative size', { a: { ...twoTensors.a, shape: [-2] } }, 'does not describe a tensor'],
    ['with a huge shape', { a: { ...twoTensors.a, shape: [2 ** 40, 2 ** 40] } }, 'has the impossible shape'],
    ['with an unknown type', { a: { ...twoTensors.a, dtype: 'F4' } }, 'the element type F4, which is not supported'],
    ['without tensors', { __metadata__: {} }, 'it has no tensors'],
    ['whose header is not JSON', '{"a":', 'its header is not valid JSON'],
    ['whose header is nested deeply', `{"a":${'['.repeat(1e6)}${']'.repeat(1e6)}}`, 'does not describe a tensor'],
    ['with terminal escape sequences in a name', { '\u001b[2J': 1 }, 'entry "?[2J" does not describe a tensor'],
  ])('%s', async (_, header, message) => {
    const json = Buffer.from(typeof header === 'string' ? header : JSON.stringify(header));
    const prefix = Buffer.alloc(8);
    prefix.writeBigUInt64LE(BigInt(json.length));
    await expect(readBytes(Buffer.concat([prefix, json, Buffer.alloc(16)]))).rejects.toThrow(message);
  });

  test('if its header claims to be longer than the file', async () => {
    const bytes = await sample('layers.safetensors');
    bytes.writeBigUInt64LE(BigInt(bytes.length));
    await expect(readBytes(bytes)).rejects.toThrow('outside the file');
    bytes.writeBigUInt64LE(2n ** 63n);
    await expect(readBytes(bytes)).rejects.toThrow('its header has 9223372036854775808 bytes');
  });
});

test.each([
  ['an HTML page', '<!DOCTYPE html><title>Not found</title>', 'neither a safetensors file nor a PyTorch checkpoint'],
  ['a Git LFS pointer', 'version https://git-lfs.github.com/spec/v1\n', 'a pointer of Git LFS'],
  ['an empty file', '', 'too short'],
])('%s is not a checkpoint', async (_, text, message) => {
  await expect(readBytes(Buffer.from(text))).rejects.toThrow(message);
});
