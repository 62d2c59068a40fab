import type { GLTF } from '@gltf-transform/core';
import sharp from 'sharp';
import { expect, test } from 'vitest';
import { writeGlb } from '../../engine/src/gltf/write-glb.js';
import { sphere } from '../../engine/src/render/shapes.fixture.js';
import { ConversionError, convertModel, type ModelFormat } from '../src/index.js';
import { nodeTools } from '../src/node.js';

const png = await sharp({ create: { width: 8, height: 8, channels: 3, background: 'red' } })
  .png()
  .toBuffer();
const texture = { bytes: new Uint8Array(png), mimeType: 'image/png' } as const;
const plain = await writeGlb(sphere(0.5, 12), texture, { generator: 'gen3d', bundles: [] });
const compressedBy = async (compress: 'meshopt' | 'draco') =>
  (await convertModel(plain, 'glb', { ...nodeTools, name: 'ball', compress })).files[0]!.bytes;

type Change = (json: GLTF.IGLTF & Record<string, unknown>, binary: Buffer) => unknown;

/** Writes the same GLB with another JSON. If `change` returns bytes, they follow the binary chunk's. */
function changed(glb: Uint8Array, change: Change): Uint8Array {
  const file = Buffer.from(glb);
  const end = 20 + file.readUInt32LE(12);
  const json = JSON.parse(file.toString('utf8', 20, end));
  const binary = Buffer.from(file.subarray(end + 8));
  const added = change(json, binary);
  const extra = added instanceof Uint8Array ? added : new Uint8Array();
  const content = Buffer.concat([binary, extra, Buffer.alloc(-extra.length & 3)]);
  const text = Buffer.from(JSON.stringify(json));
  const chunk = Buffer.concat([text, Buffer.alloc(-text.length & 3, ' ')]);
  const header = Buffer.from(file.subarray(0, 20));
  header.writeUInt32LE(28 + chunk.length + content.length, 8);
  header.writeUInt32LE(chunk.length, 12);
  const binaryHeader = Buffer.from(file.subarray(end, end + 8));
  binaryHeader.writeUInt32LE(content.length, 0);
  return new Uint8Array(Buffer.concat([header, chunk, binaryHeader, content]));
}

/** Appends bytes to the buffer, with a buffer view for them. */
function append(json: GLTF.IGLTF, binary: Buffer, bytes: Uint8Array): Uint8Array {
  json.bufferViews!.push({ buffer: 0, byteOffset: binary.length, byteLength: bytes.length });
  json.buffers![0]!.byteLength = binary.length + bytes.length;
  return bytes;
}

const meshopt = (json: GLTF.IGLTF) =>
  json.bufferViews!.find(({ extensions }) => extensions)!.extensions!.EXT_meshopt_compression as {
    count: number;
    byteStride: number;
    byteLength: number;
  };

/** Adds a buffer view of this length to the bytes that the file has. */
function view(json: GLTF.IGLTF, byteLength: number, options: Partial<GLTF.IBufferView> = {}): { bufferView: number } {
  return { bufferView: json.bufferViews!.push({ buffer: 0, byteLength, ...options }) - 1 };
}

function sparse(json: GLTF.IGLTF, count: number, indicesBytes: number, valuesBytes: number): Partial<GLTF.IAccessor> {
  const indices = { ...view(json, indicesBytes), componentType: 5125 as const };
  return { count: 3, sparse: { count, indices, values: view(json, valuesBytes) } };
}

const position = (json: GLTF.IGLTF) => json.accessors![json.meshes![0]!.primitives[0]!.attributes.POSITION!]!;
const convert = (file: Uint8Array, format: ModelFormat) =>
  convertModel(file, format, { ...nodeTools, name: 'ball', triangles: 100 });

// One file for each field that can be wrong.
test.each<[string, Change, (() => Promise<Uint8Array>)?]>([
  [
    'terabytes of values without a buffer view',
    (json) => void Object.assign(position(json), { count: 1e12, bufferView: undefined, sparse: undefined }),
  ],
  [
    'values beyond the end of a buffer view',
    (json) => void Object.assign(position(json), { byteOffset: 0, count: 1e8 }, view(json, 1_199)),
  ],
  [
    'a stride beyond the end of a buffer view',
    (json) => void Object.assign(position(json), { count: 3 }, view(json, 400, { byteStride: 200 })),
  ],
  ['a negative count', (json) => void Object.assign(json.accessors![0]!, { count: -1 })],
  ['a count that is a text', (json) => void Object.assign(json.accessors![0]!, { count: '9' })],
  ['an unknown type of values', (json) => void Object.assign(json.accessors![0]!, { type: 'VEC9' })],
  ['a list that is not one', (json) => void Object.assign(json, { nodes: { length: 1e9 } })],
  ['sparse values beyond the end of the file', (json) => void Object.assign(position(json), sparse(json, 3, 12, 1e9))],
  ['a primitive without its values', (json) => void Object.assign(json.meshes![0]!.primitives[0]!, { indices: 99 })],
  [
    'an image without a header',
    (json, binary) => {
      Object.assign(json.images![0]!, { bufferView: json.bufferViews!.length });
      return append(json, binary, Buffer.alloc(4));
    },
  ],
  [
    'compressed data beyond the end of the file',
    (json) => void Object.assign(meshopt(json), { byteLength: 1e9 }),
    () => compressedBy('meshopt'),
  ],
  [
    'fewer triangles than its Draco data',
    (json) => void Object.assign(json.accessors![json.meshes![0]!.primitives[0]!.indices!]!, { count: 3 }),
    () => compressedBy('draco'),
  ],
])('a file that declares %s is damaged', async (_, change, base = async () => plain) => {
  const file = changed(await base(), change);
  for (const format of ['glb', 'stl'] as const) {
    const error = await convert(file, format).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(ConversionError);
    expect(error.message).toMatch(/^The file is damaged/);
  }
});

test('a file of more triangles than memory allows is refused, also if many nodes draw one mesh', async () => {
  const file = changed(plain, (json) => void json.nodes!.push(...new Array(9_990).fill({ mesh: 0 })));
  const error = await convertModel(file, 'stl', { ...nodeTools, name: 'ball' }).catch((thrown) => thrown);
  expect(error).toBeInstanceOf(ConversionError);
  expect(error.message).toMatch(
    /^The file has 5,\d+,\d+ triangles, and the limit is 5,000,000\. Export it with fewer$/,
  );
});

test('a file with a texture that is not an image is refused', async () => {
  const file = changed(plain, (json, binary) => {
    Object.assign(json.images![0]!, { bufferView: json.bufferViews!.length });
    return append(json, binary, Buffer.alloc(100, png.subarray(0, 24)));
  });
  const options = { ...nodeTools, name: 'ball', textureFormat: 'webp' } as const;
  await expect(convertModel(file, 'glb', options)).rejects.toThrow(ConversionError);
});

test('a node that contains itself is drawn once', async () => {
  const file = changed(plain, (json) => void Object.assign(json.nodes![0]!, { children: [0] }));
  expect((await convert(file, 'stl')).notes.join()).toMatch(/^100 triangles/m);
});

test('a file is read with sparse values and compression', async () => {
  const withSparse = changed(plain, (json, binary) => {
    const added = append(json, binary, Buffer.concat([Buffer.from([1, 0, 0, 0]), Buffer.alloc(12)]));
    const bufferView = json.bufferViews!.length - 1;
    position(json).sparse = {
      count: 1,
      indices: { bufferView, componentType: 5125 },
      values: { bufferView, byteOffset: 4 },
    };
    return added;
  });
  for (const file of [plain, withSparse, await compressedBy('meshopt'), await compressedBy('draco')]) {
    expect((await convert(file, 'glb')).notes[0]).toMatch(/^100 triangles/);
  }
});
