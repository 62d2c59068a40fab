import type { GLTF } from '@gltf-transform/core';
import sharp from 'sharp';
import { expect, test } from 'vitest';
import { writeGlb } from '../../engine/src/gltf/write-glb.js';
import { sphere } from '../../engine/src/render/shapes.fixture.js';
import { ConversionError, convertModel } from '../src/index.js';
import { nodeTools } from '../src/node.js';

const image = (format: 'png' | 'jpeg' | 'tiff') =>
  sharp({ create: { width: 8, height: 8, channels: 3, background: 'red' } })
    .toFormat(format)
    .toBuffer();

const texture = { bytes: new Uint8Array(await image('png')), mimeType: 'image/png' } as const;
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

const dracoView = (json: GLTF.IGLTF) =>
  (json.meshes![0]!.primitives[0]!.extensions!.KHR_draco_mesh_compression as { bufferView: number }).bufferView;

/** Adds a buffer view of this length to the bytes that the file has. */
function view(json: GLTF.IGLTF, byteLength: number, options: Partial<GLTF.IBufferView> = {}): { bufferView: number } {
  return { bufferView: json.bufferViews!.push({ buffer: 0, byteLength, ...options }) - 1 };
}

function sparse(json: GLTF.IGLTF, count: number, indicesBytes: number, valuesBytes: number): Partial<GLTF.IAccessor> {
  const indices = { ...view(json, indicesBytes), componentType: 5125 as const };
  return { count: 3, sparse: { count, indices, values: view(json, valuesBytes) } };
}

// 36 million pixels, according to their headers.
const png = await image('png');
png.writeUInt32BE(6_000, 16);
png.writeUInt32BE(6_000, 20);
const jpeg = await image('jpeg');
const frame = jpeg.indexOf(Buffer.from([0xff, 0xc0]));
jpeg.writeUInt16BE(6_000, frame + 5);
jpeg.writeUInt16BE(6_000, frame + 7);
const tiff = await image('tiff');

const addImage = (json: GLTF.IGLTF, mimeType: string) => {
  json.images!.push(...new Array(2).fill({ bufferView: json.bufferViews!.length, mimeType }));
};

const position = (json: GLTF.IGLTF) => json.accessors![json.meshes![0]!.primitives[0]!.attributes.POSITION!]!;

// One file for each field that can lie.
test.each<[string, RegExp, Change, (() => Promise<Uint8Array>)?]>([
  [
    'values of an accessor without a buffer view',
    /^The file declares 600,\d+,\d+ bytes of geometry, and the limit is 536,870,912\. Export it with fewer$/,
    (json) => void json.accessors!.push({ type: 'VEC3', componentType: 5126, count: 5e7 }),
  ],
  [
    'values beyond the end of a buffer view',
    /^The file is damaged: accessor \d declares 1,200 bytes, and its buffer view has [\d,]+\. Export it again$/,
    (json) => void Object.assign(position(json), { byteOffset: 0, count: 100 }, view(json, 1_199)),
  ],
  [
    'an offset beyond the end of a buffer view',
    /accessor \d declares 1,236 bytes, and its buffer view has 1,199/,
    (json) => void Object.assign(position(json), { byteOffset: 1_200, count: 3 }, view(json, 1_199)),
  ],
  [
    'a stride beyond the end of a buffer view',
    /accessor \d declares 412 bytes, and its buffer view has 400/,
    (json) => void Object.assign(position(json), { count: 3 }, view(json, 400, { byteStride: 200 })),
  ],
  [
    'one buffer view as the values of many accessors',
    /^The file declares [\d,]+ bytes of geometry/,
    (json) => {
      const indices = json.accessors![json.meshes![0]!.primitives[0]!.indices!]!;
      json.accessors!.push(
        ...new Array(9_990).fill({
          ...indices,
          type: 'VEC4',
          componentType: 5126,
          count: 4_000,
          ...view(json, 64_000),
        }),
      );
    },
    async () => changed(plain, (json, binary) => append(json, binary, Buffer.alloc(64_000))),
  ],
  [
    'a negative count',
    /accessor 0 has no valid number/,
    (json) => void Object.assign(json.accessors![0]!, { count: -1 }),
  ],
  [
    'a count that is a text',
    /accessor 0 has no valid number/,
    (json) => void Object.assign(json.accessors![0]!, { count: '9' }),
  ],
  [
    'the number of a mesh that is a text',
    /a node's mesh has no valid number/,
    (json) => void json.nodes!.push(...new Array(300).fill({ mesh: '0' })),
  ],
  [
    'the number of a child that is a text',
    /a node's child has no valid number/,
    (json) => void Object.assign(json.nodes![0]!, { children: ['0'] }),
  ],
  [
    'an unknown type of values',
    /accessor 0 has an unknown type/,
    (json) => void Object.assign(json.accessors![0]!, { type: 'VEC9' }),
  ],
  ['a list that is not one', /^The file is damaged/, (json) => void Object.assign(json, { nodes: { length: 1e9 } })],
  [
    'a buffer view beyond the end of the file',
    /buffer view 0 declares bytes up to 4,294,967,295, and its buffer has [\d,]+/,
    (json) => void Object.assign(json.bufferViews![0]!, { byteOffset: 0, byteLength: 2 ** 32 - 1 }),
  ],
  [
    'more sparse values than values',
    /accessor \d replaces 999 of 3 values/,
    (json) => void Object.assign(position(json), sparse(json, 999, 4_000, 12_000)),
  ],
  [
    'sparse indices beyond the end of a buffer view',
    /accessor \d declares 12 bytes, and its buffer view has 4/,
    (json) => void Object.assign(position(json), sparse(json, 3, 4, 36)),
  ],
  [
    'sparse values beyond the end of a buffer view',
    /accessor \d declares 36 bytes, and its buffer view has 4/,
    (json) => void Object.assign(position(json), sparse(json, 3, 12, 4)),
  ],
  [
    'a mesh drawn by many nodes',
    /^The file declares 5,\d+,\d+ triangles, and the limit is 5,000,000\. Export it with fewer$/,
    (json) => void json.nodes!.push(...new Array(9_990).fill({ mesh: 0 })),
  ],
  [
    'vertices drawn by many nodes',
    /^The file declares [\d,]+ vertices, and the limit is 10,000,000/,
    (json) => {
      json.accessors!.push(
        { type: 'SCALAR', componentType: 5125, count: 3 },
        { type: 'VEC3', componentType: 5126, count: 2_000 },
      );
      json.meshes!.push({
        primitives: [{ indices: json.accessors!.length - 2, attributes: { POSITION: json.accessors!.length - 1 } }],
      });
      json.nodes!.push(...new Array(9_000).fill({ mesh: 1 }));
    },
  ],
  [
    'many primitives, drawn by many nodes',
    /^The file declares 1,00\d,\d+ primitives, and the limit is 10,000/,
    (json) => {
      json.meshes!.push({ primitives: new Array(1_000).fill({ attributes: {} }) });
      json.nodes!.push(...new Array(1_000).fill({ mesh: 1 }));
    },
  ],
  [
    'many morph targets',
    /^The file declares 260,[\d,]+ values in its JSON, and the limit is 250,000\. Export it with fewer$/,
    (json) =>
      void Object.assign(json.meshes![0]!.primitives[0]!, { targets: new Array(130_000).fill({ POSITION: 0 }) }),
  ],
  [
    'one accessor as the values of many morph targets',
    /^The file declares [\d,]{11} bytes of vertices, and the limit is 536,870,912\. Export it with fewer$/,
    (json) => {
      const POSITION = json.accessors!.push({ type: 'VEC3', componentType: 5126, count: 9_000 }) - 1;
      json.meshes![0]!.primitives[0]!.targets = new Array(5_000).fill({ POSITION });
    },
  ],
  [
    'many channels of animations',
    /^The file declares 300,[\d,]+ values in its JSON/,
    (json) => void Object.assign(json, { animations: new Array(2).fill({ channels: new Array(150_000).fill({}) }) }),
  ],
  [
    'many joints of skins',
    /^The file declares 300,[\d,]+ values in its JSON/,
    (json) => void Object.assign(json, { skins: new Array(2).fill({ joints: new Array(150_000).fill(0) }) }),
  ],
  [
    'many nodes',
    /^The file declares 300,[\d,]+ values in its JSON/,
    (json) => void Object.assign(json, { nodes: new Array(300_000).fill({}) }),
  ],
  [
    'many materials',
    /^The file declares 300,[\d,]+ values in its JSON/,
    (json) => void Object.assign(json, { materials: new Array(300_000).fill({}) }),
  ],
  [
    'a deep tree of nodes',
    /node \d+ is more than 256 levels deep/,
    (json) =>
      void json.nodes!.push(
        ...Array.from({ length: 300 }, (_, at) => ({ children: at < 299 ? [json.nodes!.length + at + 1] : [] })),
      ),
  ],
  [
    'a node that contains itself',
    /node 0 is more than 256 levels deep, or contains itself/,
    (json) => void Object.assign(json.nodes![0]!, { children: [0] }),
  ],
  [
    'a node with two parents',
    /node 1 has two parents/,
    (json) => void json.nodes!.push({}, { children: [json.nodes!.length] }, { children: [json.nodes!.length] }),
  ],
  [
    'a node without its mesh',
    /a node refers to the missing mesh 7/,
    (json) => void Object.assign(json.nodes![0]!, { mesh: 7 }),
  ],
  [
    'a primitive without its values',
    /^The file is damaged/,
    (json) => void Object.assign(json.meshes![0]!.primitives[0]!, { indices: 99 }),
  ],
  [
    'images of many pixels',
    /^The file declares 72,\d+,\d+ pixels of images, and the limit is 67,108,864/,
    (json, binary) => {
      addImage(json, 'image/png');
      return append(json, binary, png);
    },
  ],
  [
    'one buffer view as the file of many images',
    /^The file declares 600,\d+,\d+ bytes of images, and the limit is 536,870,912\. Export it with fewer$/,
    (json, binary) => {
      const view = { bufferView: json.bufferViews!.length, mimeType: 'image/png' };
      json.images!.push(...new Array(6_000).fill(view));
      return append(json, binary, Buffer.concat([texture.bytes, Buffer.alloc(100_000 - texture.bytes.length)]));
    },
  ],
  [
    'an image of another type than it declares',
    /^The file declares 72,\d+,\d+ pixels of images/,
    (json, binary) => {
      addImage(json, 'image/png');
      return append(json, binary, jpeg);
    },
  ],
  [
    'an image in a data URI',
    /^The file declares 72,\d+,\d+ pixels of images/,
    (json) => void json.images!.push(...new Array(2).fill({ uri: `data:image/png;base64,${png.toString('base64')}` })),
  ],
  [
    'a texture in an unknown format',
    /^The file's image 0 is in an unknown format\. Export it with JPEG or PNG textures$/,
    (json, binary) => {
      json.images![0]!.bufferView = json.bufferViews!.length;
      return append(json, binary, tiff);
    },
  ],
  [
    'a long JSON',
    /^The file declares 17,[\d,]+ bytes of JSON, and the limit is 16,777,216/,
    (json) => void Object.assign(json, { extras: { text: 'x'.repeat(17e6) } }),
  ],
  [
    'more compressed values than a buffer view has',
    /^The file declares [\d,]+ bytes of geometry/,
    (json) => void Object.assign(meshopt(json), { count: 1e9 }),
    () => compressedBy('meshopt'),
  ],
  [
    'compressed data beyond the end of the file',
    /^The file is damaged/,
    (json) => void Object.assign(meshopt(json), { byteLength: 1e9 }),
    () => compressedBy('meshopt'),
  ],
  [
    'fewer triangles than its Draco data',
    /^The file is damaged/,
    (json) => void Object.assign(json.accessors![json.meshes![0]!.primitives[0]!.indices!]!, { count: 3 }),
    () => compressedBy('draco'),
  ],
  [
    'many triangles in Draco data',
    /^The file declares [\d,]+ triangles, and the limit is 5,000,000/,
    (json, binary) => {
      const start = json.bufferViews![dracoView(json)]!.byteOffset ?? 0;
      // As long as the numbers of vertices and faces, of which the second is 2 ** 27.
      binary.set([0x80, 0x01, 0x80, 0x80, 0x80, 0x40], start + 12);
    },
    () => compressedBy('draco'),
  ],
  [
    'Draco data with metadata',
    /^The Draco data of the file cannot be checked\. Export it without compression$/,
    (json, binary) => {
      binary[(json.bufferViews![dracoView(json)]!.byteOffset ?? 0) + 10] = 0x80;
    },
    () => compressedBy('draco'),
  ],
])(
  'a file that declares %s is refused, and the error says so',
  async (_, message, change, base = async () => plain) => {
    const file = changed(await base(), change);
    const error = await convertModel(file, 'glb', { ...nodeTools, name: 'ball', triangles: 100 }).catch(
      (thrown) => thrown,
    );
    expect(error).toBeInstanceOf(ConversionError);
    expect(error.message).toMatch(message);
  },
);

test('a file within all limits is read, also one with sparse values and compression', async () => {
  const convert = (file: Uint8Array) => convertModel(file, 'glb', { ...nodeTools, name: 'ball', triangles: 100 });
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
    expect((await convert(file)).notes[0]).toMatch(/^100 triangles/);
  }
});
