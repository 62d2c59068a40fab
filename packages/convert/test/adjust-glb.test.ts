/// <reference path="../../engine/src/gltf/gltf-validator.d.ts" />
import { type Document, getBounds, WebIO } from '@gltf-transform/core';
import { ALL_EXTENSIONS } from '@gltf-transform/extensions';
import { MeshoptDecoder } from 'meshoptimizer';
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { problemOfGlb } from '../../engine/src/gltf/check-glb.js';
import { writeGlb } from '../../engine/src/gltf/write-glb.js';
import { sphere } from '../../engine/src/render/shapes.fixture.js';
import { convertModel, editJson, type ModelFormat, readModel } from '../src/index.js';
import { nodeTools } from '../src/node.js';
import { type ModelOptionTexts, parseModelOptions } from '../src/options.js';
import { openEdges, weld } from '../src/weld.js';

const noise = Buffer.from(Array.from({ length: 3 * 64 * 64 }, (_, at) => (at * at * 31) % 251));
const jpeg = await sharp(noise, { raw: { width: 64, height: 64, channels: 3 } })
  .jpeg()
  .toBuffer();
/** Closed, with a seam of the texture from pole to pole. */
const ball = sphere(0.5, 24);
const mesh = { ...ball, positions: ball.positions.map((value) => Math.round(1e6 * value) / 1e6) };
const count = mesh.indices.length / 3;
const photo = {
  cameraPosition: [0, 0.5, 3],
  cameraTarget: [0, 0.5, 0],
  fieldOfView: 0.5,
  frame: { left: 0, top: 0, width: 1, height: 1 },
};
const bundles = [{ name: 'gen3d-base', license: 'MIT' }];
const texture = { bytes: new Uint8Array(jpeg), mimeType: 'image/jpeg' } as const;
const glb = await writeGlb(mesh, texture, { generator: 'gen3d 1.2.3', bundles, photo });

const convert = (texts: ModelOptionTexts, format: ModelFormat = 'glb', file = glb) =>
  convertModel(file, format, { ...nodeTools, name: 'ball', ...parseModelOptions(texts, format) });
const jsonOf = (file: Uint8Array) => {
  const length = new DataView(file.buffer, file.byteOffset).getUint32(12, true);
  return JSON.parse(new TextDecoder().decode(file.subarray(20, 20 + length)));
};
const smaller = async (texts: ModelOptionTexts) => (await convert(texts)).files[0]!.bytes;
const read = async (file: Uint8Array) => {
  await MeshoptDecoder.ready;
  const io = new WebIO().registerExtensions(ALL_EXTENSIONS).registerDependencies({ 'meshopt.decoder': MeshoptDecoder });
  return io.readBinary(file);
};
const triangles = (document: Document) =>
  document.getRoot().listMeshes()[0]!.listPrimitives()[0]!.getIndices()!.getCount() / 3;
const isClosed = async (file: Uint8Array) => openEdges(weld((await readModel(file)).parts)).length === 0;

describe('a GLB', () => {
  test('without options stays as it is', async () => {
    expect((await convert({})).files[0]!.bytes).toBe(glb);
  });

  test.each([1000, 200])('with at most %i triangles stays closed, valid and textured', async (budget) => {
    const file = await smaller({ triangles: String(budget) });
    const document = await read(file);
    expect(triangles(document)).toBeLessThanOrEqual(budget);
    expect(triangles(document)).toBeGreaterThan(0.8 * budget);
    expect(document.getRoot().listTextures()[0]!.getImage()).toEqual(texture.bytes);
    expect(await isClosed(file)).toBe(true);
    expect(await problemOfGlb(file)).toBeUndefined();
  });

  test('with a flat foot and fewer triangles becomes an STL that has no more of them, and stands on the bed', async () => {
    const { files, notes } = await convert({ triangles: '1000', base: 'flat' }, 'stl');
    const { bytes } = files[0]!;
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    const written = view.getUint32(80, true);
    expect(written).toBeLessThanOrEqual(1000);
    expect(notes[0]).toBe(`${written.toLocaleString('en')} triangles (before: ${count.toLocaleString('en')}).`);
    const heights = Array.from({ length: 3 * written }, (_, at) =>
      view.getFloat32(84 + 50 * Math.floor(at / 3) + 12 * (1 + (at % 3)) + 8, true),
    );
    expect(Math.min(...heights)).toBe(0);
  });

  test('says if the number of triangles cannot be reached', async () => {
    const { notes } = await convert({ triangles: '40' });
    expect(notes[0]).toMatch(/^\d+ triangles /);
    expect(notes[1]).toBe('With fewer triangles, the surface or its texture would tear.');
  });

  test('gets a smaller texture, also in another format, but no larger one', async () => {
    const textureOf = async (texts: ModelOptionTexts) => {
      const [one] = (await read(await smaller(texts))).getRoot().listTextures();
      return [one!.getMimeType(), ...one!.getSize()!];
    };
    expect(await textureOf({ texture: '32' })).toEqual(['image/jpeg', 32, 32]);
    expect(await textureOf({ texture: '512' })).toEqual(['image/jpeg', 64, 64]);
    expect(await textureOf({ texture: '32', textureFormat: 'webp' })).toEqual(['image/webp', 32, 32]);
    expect(await textureOf({ textureFormat: 'webp' })).toEqual(['image/webp', 64, 64]);
  });

  test.each<[ModelOptionTexts, string[]]>([
    [{ compress: 'meshopt' }, ['EXT_meshopt_compression', 'KHR_mesh_quantization']],
    [{ compress: 'draco' }, ['KHR_draco_mesh_compression']],
    [
      { compress: 'meshopt', textureFormat: 'webp' },
      ['EXT_meshopt_compression', 'EXT_texture_webp', 'KHR_mesh_quantization'],
    ],
  ])('%j is smaller, valid, and can be converted and decompressed again, still closed', async (texts, extensions) => {
    const compressed = await smaller(texts);
    expect(compressed.length).toBeLessThan(0.6 * glb.length);
    expect(await problemOfGlb(compressed)).toBeUndefined();
    expect(jsonOf(compressed).extensionsRequired.sort()).toEqual(extensions);
    expect((await convert({ size: '80mm' }, 'stl', compressed)).printCheck).toMatchObject({
      closed: true,
      pieces: 1,
      volume: expect.closeTo((4 / 3) * Math.PI * 4 ** 3, -1),
    });
    const plain = (await convert({ compress: 'none', textureFormat: 'jpeg' }, 'glb', compressed)).files[0]!.bytes;
    expect((await read(plain)).getRoot().listExtensionsUsed()).toEqual([]);
    expect(triangles(await read(plain))).toBe(count);
    expect(await isClosed(plain)).toBe(true);
  });

  test('gets a size in meters, which it states next to its origin', async () => {
    const { files, notes } = await convert({ height: '30cm' });
    expect(notes[0]).toBe('0.3 × 0.3 × 0.3 m (width × depth × height).');
    const document = await read(files[0]!.bytes);
    const { min, max } = getBounds(document.getRoot().getDefaultScene()!);
    expect([...min, ...max]).toEqual([-0.15, 0, -0.15, 0.15, 0.3, 0.15].map((value) => expect.closeTo(value, 5)));
    const { generator, extras } = jsonOf(files[0]!.bytes).asset;
    expect(generator).toBe('gen3d 1.2.3');
    expect(extras).toMatchObject({
      bundles,
      size: { width: expect.closeTo(0.3), height: expect.closeTo(0.3), depth: expect.closeTo(0.3), unit: 'm' },
      photo: { cameraPosition: [0, expect.closeTo(0.15), expect.closeTo(0.9)], fieldOfView: 0.5 },
    });
  });

  test.each([
    [{ triangles: '200' }, 2],
    [{ triangles: '200', size: '30cm' }, 0.3],
  ])('%j keeps its longest side, though simplifying cuts off its ends', async (texts, longest) => {
    const wide = { ...mesh, positions: mesh.positions.map((value, at) => (at % 3 === 0 ? 2 * value : value)) };
    const file = await writeGlb(wide, texture, { generator: 'gen3d 1.2.3', bundles, photo });
    const document = await read((await convert(texts, 'glb', file)).files[0]!.bytes);
    expect(triangles(document)).toBeLessThanOrEqual(200);
    const { min, max } = getBounds(document.getRoot().getDefaultScene()!);
    expect(Math.max(...max.map((value, axis) => value - min[axis]!))).toBeCloseTo(longest, 5);
  });

  test('gets levels of detail, each with half the triangles and the texture of the one before', async () => {
    const { files, notes } = await convert({ triangles: '1000', lod: '2', compress: 'meshopt' });
    expect(files.map(({ name }) => name)).toEqual(['ball.glb', 'ball.lod1.glb', 'ball.lod2.glb']);
    const documents = await Promise.all(files.map(({ bytes }) => read(bytes)));
    const figures = documents.map((document) => [
      triangles(document),
      document.getRoot().listTextures()[0]!.getSize()![0],
    ]);
    expect(figures).toEqual([
      [1000, 64],
      [500, 32],
      [250, 16],
    ]);
    expect(notes[0]).toMatch(/^1,000 triangles \(before: 2,208\), \d+ kB \(before: \d+\)\.$/);
    expect(notes[2]).toMatch(/^ball\.lod2\.glb: 250 triangles, texture of 16 pixels, \d kB\.$/);
  });
});

describe('a GLB with a real size', () => {
  const sized = () => smaller({ size: '80mm' });

  test('is valid, and has its geometry and texture as they were', async () => {
    const file = await sized();
    expect(await problemOfGlb(file)).toBeUndefined();
    const { asset, nodes, scenes } = jsonOf(file);
    const [width, height, depth] = [0.08, 0.08, 0.08].map((meters) => expect.closeTo(meters, 5));
    expect(asset.extras).toMatchObject({ bundles, size: { width, height, depth, unit: 'm' } });
    expect(scenes[0].nodes.map((index: number) => nodes[index])).toMatchObject([{ name: 'size', children: [0] }]);
    const binary = (one: Uint8Array) => one.subarray(20 + new DataView(one.buffer, one.byteOffset).getUint32(12, true));
    expect(Buffer.compare(binary(file), binary(glb))).toBe(0);
  });

  test('keeps it when it is printed without a size, and gets another one with it', async () => {
    const { notes } = await convert({}, 'stl', await sized());
    expect(notes).toEqual(['80 × 80 × 80 mm (width × depth × height).', expect.stringMatching(/^Print check: /)]);
    expect((await convert({ size: '5cm' }, '3mf', await sized())).notes[0]).toMatch(/^50 × 50 × 50 mm/);
    expect((await convert({ size: '5cm' }, 'glb', await sized())).notes[0]).toMatch(/^0\.05 × 0\.05 × 0\.05 m/);
    const { files } = await convert({ triangles: '500' }, 'glb', await sized());
    expect((await convert({}, 'stl', files[0]!.bytes)).notes[0]).toMatch(/^(79|80).* mm /);
  });

  test('has one parent for a root that two scenes share', async () => {
    const shared = editJson(glb, ({ scenes }) => void scenes!.push({ nodes: [...scenes![0]!.nodes!] }));
    const file = (await convert({ size: '2m' }, 'glb', shared)).files[0]!.bytes;
    expect(await problemOfGlb(file)).toBeUndefined();
    expect(jsonOf(file).scenes.map((scene: { nodes: number[] }) => scene.nodes)).toEqual([[1], [1]]);
  });
});

test('other formats get the budget as well, and state it', async () => {
  const { files, notes } = await convert({ triangles: '500', texture: '16' }, 'obj');
  expect(new TextDecoder().decode(files[0]!.bytes).match(/^f /gm)!.length).toBeLessThanOrEqual(500);
  expect((await sharp(files[2]!.bytes).metadata()).width).toBe(16);
  expect(notes).toEqual([
    expect.stringMatching(/^\d+ triangles \(before: 2,208\), texture of 16 pixels \(before: 64\)\.$/),
  ]);
});

test('browsers say that they cannot do it', async () => {
  await expect(convertModel(glb, 'stl', { name: 'ball', triangles: 500 })).rejects.toThrow(
    /^Browsers cannot .* Use the command line$/,
  );
});

test('a file that is not a whole GLB is not copied as one', async () => {
  await expect(convert({}, 'glb', new Uint8Array(jpeg))).rejects.toThrow('The file is a JPEG, not a GLB');
  await expect(convert({}, 'glb', glb.slice(0, 500))).rejects.toThrow('The file is incomplete');
});
