import { type Accessor, Document, type GLTF, type Node, type Primitive, WebIO } from '@gltf-transform/core';
import {
  ALL_EXTENSIONS,
  EXTMeshGPUInstancing,
  KHRLightsPunctual,
  KHRMaterialsVariants,
  KHRTextureTransform,
} from '@gltf-transform/extensions';
import { strFromU8, unzipSync } from 'fflate';
import sharp from 'sharp';
import { OBJLoader } from 'three/examples/jsm/loaders/OBJLoader.js';
import { STLLoader } from 'three/examples/jsm/loaders/STLLoader.js';
import { USDAParser } from 'three/examples/jsm/loaders/usd/USDAParser.js';
import { describe, expect, test } from 'vitest';
import { writeGlb } from '../../engine/src/gltf/write-glb.js';
import { sphere } from '../../engine/src/render/shapes.fixture.js';
import { ConversionError, convertModel, type ModelContent, type ModelFormat, modelFormats } from '../src/index.js';
import { nodeTools } from '../src/node.js';
import { companionNames, type ModelOptionTexts, parseLength, parseModelOptions } from '../src/options.js';

/** The upper half is red, the lower half blue. */
const pixels = Buffer.from(Array.from({ length: 64 * 64 }, (_, i) => (i < 2_048 ? [255, 0, 0] : [0, 0, 255])).flat());
const texture = {
  bytes: new Uint8Array(
    await sharp(pixels, { raw: { width: 64, height: 64, channels: 3 } })
      .png()
      .toBuffer(),
  ),
  mimeType: 'image/png',
} as const;
/** It stands on y = 0, and its extents differ by axis. It is closed: rounding joins the two ends of the sphere's seam. */
const ball = sphere(0.5, 12);
const mesh = {
  ...ball,
  positions: ball.positions.map((value, at) => Math.round(1e6 * value * [1, 2, 3][at % 3]!) / 1e6),
};
const triangleCount = mesh.indices.length / 3;
const glb = await writeGlb(mesh, texture, {
  generator: 'gen3d 1.2.3',
  bundles: [{ name: 'gen3d-base', license: 'MIT' }],
});

const convertWith = (texts: ModelOptionTexts, format: ModelFormat, file = glb) =>
  convertModel(file, format, { name: 'my cup', ...parseModelOptions(texts, format) });
const convert = async (format: ModelFormat, file = glb) => (await convertWith({}, format, file)).files;
const text = (bytes: Uint8Array | undefined) => new TextDecoder().decode(bytes);

/** The largest distance from the origin per axis. */
function extent(positions: ArrayLike<number>): number[] {
  const max = [0, 0, 0];
  for (let at = 0; at < positions.length; at++) max[at % 3] = Math.max(max[at % 3]!, Math.abs(positions[at]!));
  return max.map((value) => Math.round(value * 100) / 100);
}

describe('the size', () => {
  /** Width, depth and height of an STL. */
  async function sizeOf(texts: ModelOptionTexts) {
    const { files } = await convertWith(texts, 'stl');
    const { array } = new STLLoader().parse(files[0]!.bytes.buffer).attributes.position!;
    return [0, 1, 2].map((axis) => {
      const values = array.filter((_, at) => at % 3 === axis);
      return Number((Math.max(...values) - Math.min(...values)).toFixed(1));
    });
  }

  test.each<[ModelOptionTexts, number[]]>([
    [{}, [33.3, 100, 66.7]],
    [{ size: '60mm' }, [20, 60, 40]],
    [{ height: '8 cm' }, [40, 120, 80]],
    [{ width: '1in' }, [25.4, 76.2, 50.8]],
  ])('%j', async (texts, expected) => {
    expect(await sizeOf(texts)).toEqual(expected);
  });

  test('is stated, and so is the default', async () => {
    expect((await convertWith({}, 'stl')).notes).toEqual([
      '33.3 × 100 × 66.7 mm (width × depth × height).',
      'No size was given, so the longest side is 100 mm.',
      expect.stringMatching(/^Print check: closed, 113 cm³; one piece; /),
    ]);
    expect((await convertWith({ size: '0.3m' }, 'obj')).notes).toEqual(['0.1 × 0.3 × 0.2 m (width × depth × height).']);
    expect((await convertWith({}, 'obj')).notes).toEqual([]);
  });

  test('of a flat model can only be given for a side that it has', async () => {
    const flat = await writeGlb(
      { ...mesh, positions: mesh.positions.map((value, at) => (at % 3 === 1 ? 0 : value)) },
      texture,
      { generator: 'gen3d 1.2.3', bundles: [] },
    );
    await expect(convertWith({ height: '3cm' }, 'stl', flat)).rejects.toThrow('Give the size of another side');
  });
});

test('the axis that points up can be chosen, and the file states it', async () => {
  const [obj] = (await convertWith({ up: 'z' }, 'obj')).files;
  expect(text(obj?.bytes)).toContain('# Units: meters. Axis that points up: Z\n');
  expect(extent(new OBJLoader().parse(text(obj?.bytes)).children[0]!.geometry.attributes.position!.array)).toEqual([
    0.5, 1.5, 2,
  ]);
  const [stl] = (await convertWith({ up: 'y', size: '3m' }, 'stl')).files;
  expect(text(stl?.bytes.subarray(0, 36))).toBe('gen3d, binary STL, millimeters, Y up');
  expect(extent(new STLLoader().parse(stl!.bytes.buffer).attributes.position!.array)).toEqual([500, 2000, 1500]);
});

describe('an option is refused with the reason:', () => {
  test.each(['80', '-8mm', '8 furlongs', '', 'mm', '0mm', '1e3mm', '1..2cm', '99999m'])('the length "%s"', (length) => {
    const problem = length === '80' ? /"80" has no unit\. Write it as 80mm/ : /is not a length .* Write it as 80mm/;
    expect(() => parseLength(length)).toThrow(problem);
  });

  test.each<[ModelOptionTexts, ModelFormat, string]>([
    [{ size: '8cm', height: '8cm' }, 'stl', 'Use only one of --size, --height and --width'],
    [{ height: '8' }, 'stl', '--height: "8" has no unit. Write it as 80mm, 8cm, 0.3m or 3in'],
    [{ up: 'x' }, 'stl', '--up x is not possible. Use y or z'],
    [{ up: 'z' }, 'usdz', '--up does not apply to .usdz, only to .obj, .stl'],
    [{ base: 'flat' }, 'glb', '--base does not apply to .glb, only to .stl, .3mf'],
    [{ compress: 'draco' }, 'obj', '--compress does not apply to .obj, only to .glb'],
    [{ compress: 'zip' }, 'glb', '--compress zip is not possible. Use meshopt or draco or none'],
    [{ triangles: '3' }, 'stl', '--triangles: "3" is not a whole number from 4 to 10,000,000'],
    [{ texture: '1e3' }, 'glb', '--texture: "1e3" is not a whole number from 1 to 16,384'],
  ])('%j for %s', (texts, format, reason) => {
    expect(() => parseModelOptions(texts, format)).toThrow(new ConversionError(reason));
  });
});

describe('OBJ', () => {
  test.each([
    ['-dash', 'dash'],
    ['..hidden', 'hidden'],
    ['q?a#b%20c&d', 'q_a_b_20c_d'],
    ['line\nbreak\\', 'line_break_'],
    ['Käffchen 茶', 'Käffchen_茶'],
    ['#', '_'],
    ['--', 'model'],
  ])(
    'names the files of an OBJ called %j %s, which a viewer can request and no reader takes for an option',
    async (name, prefix) => {
      const { files } = await convertModel(glb, 'obj', { ...nodeTools, name });
      expect(files.map((file) => file.name)).toEqual([`${name}.obj`, `${prefix}.mtl`, `${prefix}-texture.png`]);
      expect(text(files[0]?.bytes)).toContain(`\nmtllib ${prefix}.mtl\n`);
      expect(text(files[1]?.bytes)).toContain(`\nmap_Kd ${prefix}-texture.png\n`);
      expect(companionNames(name, 'obj', {})).toEqual([`${prefix}.mtl`, `${prefix}-texture.jpg`]);
    },
  );

  test('has the triangles in meters with Y up, and names its material and texture', async () => {
    const [obj, mtl, image] = await convert('obj');
    expect([obj?.name, mtl?.name, image?.name]).toEqual(['my cup.obj', 'my_cup.mtl', 'my_cup-texture.png']);
    expect(text(obj?.bytes)).toContain(
      '# gen3d 1.2.3\n# bundle gen3d-base, license MIT\n# Units: meters. Axis that points up: Y\nmtllib my_cup.mtl\n',
    );
    expect(text(mtl?.bytes)).toContain('\nmap_Kd my_cup-texture.png\n');
    expect(image?.bytes).toEqual(texture.bytes);
    const [part] = new OBJLoader().parse(text(obj?.bytes)).children;
    const { position, uv } = part!.geometry.attributes;
    expect(position!.count).toBe(3 * triangleCount);
    expect(extent(position!.array)).toEqual([0.5, 2, 1.5]);
    expect(position!.array[1]).toBeCloseTo(mesh.positions[3 * mesh.indices[0]! + 1]!, 6);
    expect(uv!.array[1]).toBeCloseTo(1 - mesh.uvs[2 * mesh.indices[0]! + 1]!, 6);
  });

  test('has each position once, so the surface stays closed where the texture is cut', async () => {
    const [obj] = await convert('obj');
    const positions = text(obj?.bytes).match(/^v .*$/gm)!;
    expect(new Set(positions).size).toBe(positions.length);
    expect(positions.length).toBeLessThan(mesh.positions.length / 3);
  });
});

test('STL has the triangles in millimeters with Z up and outward normals', async () => {
  const { files, notes } = await convertWith({ size: '6m' }, 'stl');
  const [stl] = files;
  expect(notes[0]).toBe('2000 × 6000 × 4000 mm (width × depth × height).');
  expect(stl?.bytes.length).toBe(84 + 50 * triangleCount);
  expect(text(stl?.bytes.subarray(0, 38))).toBe('gen3d, binary STL, millimeters, Z up\0\0');
  const center = [0, 0, 2000];
  const { position, normal } = new STLLoader().parse(stl!.bytes.buffer).attributes;
  expect(extent(position!.array)).toEqual([1000, 3000, 4000]);
  for (let at = 0; at < position!.array.length; at += 9) {
    const fromCenter = [0, 1, 2].map((axis) => position!.array[at + axis]! - center[axis]!);
    const outward = fromCenter.reduce((sum, value, axis) => sum + value * normal!.array[at + axis]!, 0);
    expect(outward).toBeGreaterThanOrEqual(0);
  }
});

describe('3MF', () => {
  const archive = async () => unzipSync((await convert('3mf'))[0]!.bytes);

  test('has a closed surface in millimeters with Z up, which stands at the origin', async () => {
    const xml = strFromU8((await archive())['3D/3dmodel.model']!);
    expect(xml).toContain('<model unit="millimeter"');
    expect(xml).toContain('gen3d 1.2.3; bundle gen3d-base, license MIT');
    const vertices = [...xml.matchAll(/<vertex x="(.+)" y="(.+)" z="(.+)"\/>/g)].map(([, ...row]) => row.map(Number));
    const [x, y, z] = /<item .* (\S+) (\S+) (\S+)"\/>/.exec(xml)!.slice(1).map(Number);
    expect(extent(vertices.flatMap((row) => [row[0]! + x!, row[1]! + y!, row[2]! + z!]))).toEqual([33.33, 100, 66.67]);
    const edges = new Set<string>();
    for (const [, a, b, c] of xml.matchAll(/<triangle v1="(\d+)" v2="(\d+)" v3="(\d+)"/g)) {
      for (const edge of [`${a} ${b}`, `${b} ${c}`, `${c} ${a}`]) edges.add(edge);
    }
    expect(edges.size).toBeGreaterThan(2 * triangleCount);
    for (const edge of edges) expect(edges).toContain(edge.split(' ').reverse().join(' '));
  });

  test('has the texture with its coordinates, and a reference to it', async () => {
    const files = await archive();
    expect(files['3D/Textures/0.png']).toEqual(texture.bytes);
    expect(strFromU8(files['3D/_rels/3dmodel.model.rels']!)).toContain('Target="/3D/Textures/0.png"');
    const xml = strFromU8(files['3D/3dmodel.model']!);
    const rows = [...xml.matchAll(/<m:tex2coord u="(.+)" v="(.+)"\/>/g)].map(([, u, v]) => [Number(u), 1 - Number(v)]);
    expect(rows.length).toBe(mesh.uvs.length / 2);
    for (const [at, value] of rows.flat().entries()) expect(value).toBeCloseTo(mesh.uvs[at]!, 5);
  });

  test('has the thumbnail that is rendered of the model', async () => {
    const renderThumbnail = async ({ parts }: ModelContent) => Uint8Array.of(parts.length, 2, 3);
    const { files } = await convertModel(glb, '3mf', { name: 'cup', renderThumbnail });
    const content = unzipSync(files[0]!.bytes);
    expect(content['Metadata/thumbnail.png']).toEqual(Uint8Array.of(1, 2, 3));
    expect(strFromU8(content['_rels/.rels']!)).toMatch(
      /Type="[^"]*\/metadata\/thumbnail" Target="\/Metadata\/thumbnail\.png"/,
    );
  });

  test('has the color of a model without a texture', async () => {
    const file = await convert('3mf', await foreignGlb());
    const xml = strFromU8(unzipSync(file[0]!.bytes)['3D/3dmodel.model']!);
    // 0.5 of the light is 188 of 255 in sRGB.
    expect(xml).toContain('<m:color color="#bc0000"/>');
  });
});

describe('USDZ', () => {
  /** Names and offsets of the stored files, from their local headers. */
  function storedFiles(archive: Uint8Array) {
    const view = new DataView(archive.buffer);
    const files: { name: string; at: number; bytes: Uint8Array }[] = [];
    for (let at = 0; view.getUint32(at, true) === 0x04034b50; ) {
      expect(view.getUint16(at + 8, true)).toBe(0);
      const [size, nameLength] = [view.getUint32(at + 18, true), view.getUint16(at + 26, true)];
      const name = text(archive.subarray(at + 30, at + 30 + nameLength));
      at += 30 + nameLength + view.getUint16(at + 28, true);
      files.push({ name, at, bytes: archive.subarray(at, at + size) });
      at += size;
    }
    return files;
  }

  test('stores the layer first and each file uncompressed at a multiple of 64 bytes', async () => {
    const [usdz] = await convert('usdz');
    const files = storedFiles(usdz!.bytes);
    expect(files.map(({ name, at }) => [name, at % 64])).toEqual([
      ['model.usda', 0],
      ['textures/0.png', 0],
    ]);
    expect(files[1]?.bytes).toEqual(texture.bytes);
  });

  test('has the triangles in meters with Y up, and a material with the texture', async () => {
    const [usdz] = await convert('usdz');
    const layer = text(storedFiles(usdz!.bytes)[0]?.bytes);
    expect(layer).toMatch(/^#usda 1\.0\n/);
    const stage = new USDAParser().parseText(layer) as Record<string, Record<string, unknown>>;
    expect(stage['#usda 1.0']).toMatchObject({ metersPerUnit: '1', upAxis: '"Y"' });
    const part = (stage['def Xform "Model"'] as Record<string, Record<string, string>>)['def Mesh "Part0"']!;
    expect(JSON.parse(part['int[] faceVertexIndices']!)).toEqual([...mesh.indices]);
    const points = part['point3f[] points']!.match(/-?[\d.e-]+/g)!.map(Number);
    expect(extent(points)).toEqual([0.5, 2, 1.5]);
    expect(layer).toContain('asset inputs:file = @textures/0.png@');
  });
});

/**
 * A triangle below a node that moves it up and mirrors it, with normalized bytes as texture coordinates.
 *
 * @param change makes it the file of another program
 */
async function foreignGlb(change: (given: ForeignParts) => void = () => {}): Promise<Uint8Array> {
  const document = new Document();
  const buffer = document.createBuffer();
  const accessor = (type: 'VEC2' | 'VEC3', array: Float32Array | Uint8Array) =>
    document.createAccessor().setType(type).setArray(array).setBuffer(buffer);
  const primitive = document
    .createPrimitive()
    .setAttribute('POSITION', accessor('VEC3', Float32Array.of(0, 0, 0, 1, 0, 0, 0, 1, 0)))
    .setAttribute('TEXCOORD_0', accessor('VEC2', Uint8Array.of(0, 0, 255, 0, 0, 255)).setNormalized(true))
    .setMaterial(document.createMaterial().setBaseColorFactor([0.5, 0, 0, 1]));
  const node = document.createNode().setMesh(document.createMesh().addPrimitive(primitive));
  node.setTranslation([0, 2, 0]).setScale([-1, 1, 1]);
  document.createScene().addChild(node);
  change({ document, primitive, accessor, node });
  return new WebIO().registerExtensions(ALL_EXTENSIONS).writeBinary(document);
}

interface ForeignParts {
  readonly document: Document;
  readonly primitive: Primitive;
  readonly node: Node;
  accessor(type: 'VEC2' | 'VEC3', array: Float32Array | Uint8Array): Accessor;
}

/** Red, green and blue corners, as TripoSR and trimesh write them. The material is white. */
const withVertexColors = ({ primitive, accessor }: ForeignParts) => {
  primitive.setAttribute('COLOR_0', accessor('VEC3', Float32Array.of(1, 0, 0, 0, 1, 0, 0, 0, 0.5)));
  primitive.getMaterial()!.setBaseColorFactor([1, 1, 1, 1]);
};

describe('a GLB of another program', () => {
  test('keeps the positions of its nodes, the outside of its triangles, and its color', async () => {
    const [obj, mtl, ...rest] = await convert('obj', await foreignGlb());
    expect(rest).toEqual([]);
    expect(text(obj?.bytes).match(/^v .*$/gm)).toEqual(['v 0 2 0', 'v -1 2 0', 'v 0 3 0']);
    expect(text(obj?.bytes)).toContain('\nf 3/3 2/2 1/1\n');
    expect(text(mtl?.bytes)).toContain('\nKd 0.5 0 0\n');
  });

  test('keeps the colors of its vertices in OBJ, 3MF and USDZ', async () => {
    const file = await foreignGlb(withVertexColors);
    // 0.5 of the light is 0.735 in sRGB, or 188 of 255.
    expect(text((await convert('obj', file))[0]!.bytes).match(/^v .*$/gm)).toEqual([
      'v 0 2 0 1 0 0',
      'v -1 2 0 0 1 0',
      'v 0 3 0 0 0 0.735357',
    ]);
    const xml = strFromU8(unzipSync((await convert('3mf', file))[0]!.bytes)['3D/3dmodel.model']!);
    expect(xml.match(/<m:color color="#\w+"/g)).toEqual(
      ['ff0000', '00ff00', '0000bc'].map((color) => `<m:color color="#${color}"`),
    );
    expect(xml).toMatch(/pid="2" p1="2" p2="1" p3="0"/);
    const layer = strFromU8(unzipSync((await convert('usdz', file))[0]!.bytes)['model.usda']!);
    expect(layer).toContain('color3f[] primvars:displayColor = [(1, 0, 0), (0, 1, 0), (0, 0, 0.5)]');
    expect(layer).not.toContain('material:binding');
  });

  test('keeps the part of its texture that a transformation and a second set of coordinates choose', async () => {
    const file = await foreignGlb(({ document, primitive, accessor }) => {
      primitive.setAttribute('TEXCOORD_1', accessor('VEC2', Float32Array.of(0, 0, 1, 0, 0, 1)));
      const transform = document
        .createExtension(KHRTextureTransform)
        .setRequired(true)
        .createTransform()
        .setOffset([0.5, 0])
        .setScale([0.5, 0.25]);
      const image = document.createTexture().setImage(texture.bytes).setMimeType('image/png');
      const material = primitive.getMaterial()!.setBaseColorTexture(image);
      material.getBaseColorTextureInfo()!.setTexCoord(1).setExtension(KHRTextureTransform.EXTENSION_NAME, transform);
    });
    const [obj] = await convert('obj', file);
    // v = 0 is the bottom in OBJ.
    expect(text(obj!.bytes).match(/^vt .*$/gm)).toEqual(['vt 0.5 1', 'vt 1 1', 'vt 0.5 0.75']);
  });

  test('says what was left out', async () => {
    const file = await foreignGlb(({ document, primitive, accessor, node }) => {
      const strip = document.createPrimitive().setMode(5).setAttribute('POSITION', primitive.getAttribute('POSITION')!);
      node.getMesh()!.addPrimitive(strip);
      node.setSkin(document.createSkin().addJoint(node));
      const target = document.createPrimitiveTarget();
      primitive.addTarget(target.setAttribute('POSITION', accessor('VEC3', new Float32Array(9))));
      const instances = document.createExtension(EXTMeshGPUInstancing).createInstancedMesh();
      node.setExtension(
        'EXT_mesh_gpu_instancing',
        instances.setAttribute('TRANSLATION', accessor('VEC3', new Float32Array(9))),
      );
    });
    const { notes } = await convertWith({}, 'obj', file);
    expect(notes).toContain('Left out: 1 strip, fan, line or point set, a skin, morph targets, instances.');
    const scene = await foreignGlb(({ document, primitive, node }) => {
      const variants = document.createExtension(KHRMaterialsVariants);
      primitive.setExtension('KHR_materials_variants', variants.createMappingList());
      const light = document.createExtension(KHRLightsPunctual).createLight();
      node.setExtension('KHR_lights_punctual', light).setCamera(document.createCamera());
      const normals = document.createTexture().setImage(texture.bytes).setMimeType('image/png');
      primitive.getMaterial()!.setNormalTexture(normals);
      document.createAnimation();
      const other = document.createNode().setMesh(document.createMesh().addPrimitive(primitive.clone()));
      document.getRoot().setDefaultScene(document.getRoot().listScenes()[0]!);
      document.createScene().addChild(other).addChild(node);
    });
    const materials = 'material variants, textures other than the base color';
    expect((await convertWith({}, 'obj', scene)).notes).toContain(
      `Left out: ${materials}, lights, cameras, animations, 1 mesh outside the default scene.`,
    );
    expect((await convertWith({}, 'obj')).notes.join()).not.toContain('Left out');
  });

  test('without triangles is refused', async () => {
    await expect(convert('stl', await new WebIO().writeBinary(new Document()))).rejects.toThrow('no triangles');
    const lines = changedJson((json) => {
      json.meshes![0]!.primitives[0]!.mode = 1;
    });
    await expect(convert('stl', lines)).rejects.toThrow('no triangles, only points, lines');
  });
});

const jsonLength = new DataView(glb.buffer, glb.byteOffset).getUint32(12, true);

/** The test model with other JSON, and with `bin` as its other chunks. */
function changedJson(change: (json: GLTF.IGLTF) => void, bin = glb.subarray(20 + jsonLength)): Uint8Array {
  const json = JSON.parse(text(glb.subarray(20, 20 + jsonLength)));
  change(json);
  const chunk = Buffer.from(JSON.stringify(json).padEnd(4 * Math.ceil(JSON.stringify(json).length / 4)));
  const changed = Buffer.concat([glb.subarray(0, 20), chunk, bin]);
  changed.writeUInt32LE(changed.length, 8);
  changed.writeUInt32LE(chunk.length, 12);
  return new Uint8Array(changed);
}

const latin1 = (content: string) => new Uint8Array(Buffer.from(content, 'latin1'));
const changedByte = (at: number, value: number) => Uint8Array.from(glb, (byte, index) => (index === at ? value : byte));

/** Two triangles, one of which has a vertex whose position is not a number. */
const withoutPosition = await foreignGlb(({ document, primitive, accessor }) => {
  primitive.setAttribute('POSITION', accessor('VEC3', Float32Array.of(0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, Number.NaN)));
  primitive.setAttribute('TEXCOORD_0', null);
  const [buffer] = document.getRoot().listBuffers();
  primitive.setIndices(
    document
      .createAccessor()
      .setBuffer(buffer!)
      .setArray(Uint16Array.of(0, 1, 2, 0, 2, 3)),
  );
});

describe('a file that cannot be converted is refused with the reason:', () => {
  test.each<[string, Uint8Array, RegExp]>([
    ['no bytes', new Uint8Array(), /^The file is empty$/],
    ['random bytes', Uint8Array.from({ length: 999 }, (_, i) => (37 * i * i) % 251), /^The file is not a GLB$/],
    ['a JPEG', latin1('\xff\xd8\xff\xe0 and more'), /^The file is a JPEG, not a GLB$/],
    ['a .gltf', latin1('{"asset":{"version":"2.0"}}'), /^The file is a glTF in JSON, not a GLB$/],
    ['an OBJ', latin1('v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n'), /^The file is not a GLB$/],
    ['a GLB 1.0', changedByte(4, 1), /GLB of version 1\. Export it as glTF 2\.0$/],
    ['a header alone', glb.subarray(0, 10), /^The file is incomplete\. Download/],
    ['damaged JSON', changedByte(20, 0), /^The file is damaged\. Download, copy or export it again$/],
    ['a damaged chunk', changedByte(16, 0), /^The file is damaged\. /],
    ['JSON alone', changedJson(() => {}, Buffer.alloc(0)), /^The file is damaged\. /],
    ['JSON of another kind', changedJson((json) => Reflect.deleteProperty(json, 'asset')), /^The file is damaged\. /],
    [
      'Draco compression',
      changedJson((json) => {
        json.extensionsRequired = ['KHR_draco_mesh_compression'];
      }),
      /requires KHR_draco_mesh_compression, which cannot be converted\. Export it without compression/,
    ],
    [
      'a reference to another file',
      changedJson((json) => {
        json.buffers![0]!.uri = 'cup.bin';
      }),
      /refers to cup\.bin\. Export it as one GLB/,
    ],
    [
      'triangles that refer to missing vertices',
      changedJson((json) => {
        for (const accessor of json.accessors!) if (accessor.type !== 'SCALAR') accessor.count = 3;
      }),
      /a triangle refers to a missing vertex\. Export it again/,
    ],
    ['a vertex that is not a number', withoutPosition, /a vertex has no finite position\. Export it again/],
  ])('%s', async (_, file, reason) => {
    for (const format of modelFormats.filter((format) => format !== 'glb')) {
      const error = await convert(format, file).catch((error: unknown) => error);
      expect(error).toBeInstanceOf(ConversionError);
      expect(error).toHaveProperty('message', expect.stringMatching(reason));
    }
  });

  test('cut off anywhere', async () => {
    for (let part = 1; part < 20; part++) {
      const cut = glb.subarray(0, Math.floor((part * glb.length) / 20));
      await expect(convert('stl', cut)).rejects.toThrow(
        /^The file is incomplete(: it has \d+ of \d+ bytes)?\. Download/,
      );
    }
  });
});
