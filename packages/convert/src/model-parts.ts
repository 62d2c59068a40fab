import { type Document, type Material, type Node, Primitive, type Texture, WebIO } from '@gltf-transform/core';
import { KHRTextureTransform, type Transform } from '@gltf-transform/extensions';
import { transformPrimitive } from '@gltf-transform/functions';
import { ConversionError } from './conversion-error.js';
import { declaredTriangles, readGlb } from './read-glb.js';

/** Triangles with one material, in the coordinates of the GLB: meters, Y up. */
export interface ModelPart {
  /** x, y, z per vertex. */
  readonly positions: Float32Array;
  /** Unit length, x, y, z per vertex. */
  readonly normals: Float32Array | undefined;
  /** u, v per vertex; v = 0 is the top of the texture. */
  readonly uvs: Float32Array | undefined;
  /** Linear red, green and blue per vertex, which multiply the color of the material. */
  readonly colors: Float32Array | undefined;
  /** Three per triangle, counterclockwise. */
  readonly indices: Uint32Array;
  /** Index into `ModelContent.materials`. Undefined for the default material. */
  readonly material: number | undefined;
}

export interface ModelMaterial {
  /** Linear, 0..1. Multiplies the texture. */
  readonly color: readonly [number, number, number];
  readonly opacity: number;
  readonly roughness: number;
  readonly metallic: number;
  readonly doubleSided: boolean;
  /** Encoded as sRGB. */
  readonly texture: { readonly bytes: Uint8Array; readonly extension: 'jpg' | 'png' } | undefined;
}

export interface ModelContent {
  readonly parts: readonly ModelPart[];
  readonly materials: readonly ModelMaterial[];
  /** Program, owner and terms, one line each. */
  readonly credits: readonly string[];
  /** Whether the file states that its size is that of the object. gen3d states this if it was given a size. */
  readonly isRealSize: boolean;
  /** Names contents of the file that the other formats cannot express, such as "a skin". */
  readonly leftOut: readonly string[];
}

export interface ModelFile {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** The indices of a primitive of this mode are a list of triangles (glTF 2.0, 3.7.2.1). */
const triangles = Primitive.Mode.TRIANGLES;
/** With more triangles, the maps and texts of the writers would take more memory than Node allows by default. */
const maxTriangles = 5_000_000;

/**
 * Reads the triangles of a GLB's scene, with the transformations of its nodes and textures applied. `leftOut` names the
 * rest, such as other primitives, skins, lights and the meshes of other scenes.
 *
 * @throws {ConversionError} if the file is not a GLB, is damaged or compressed, or has none or more than 5 million
 *   triangles, counted once for each node that draws them
 * @example
 * const { parts } = await readModel(glb);
 * console.log(parts.reduce((triangles, { indices }) => triangles + indices.length / 3, 0));
 */
export async function readModel(glb: Uint8Array): Promise<ModelContent> {
  const supported = [KHRTextureTransform.EXTENSION_NAME];
  const io = new WebIO().registerExtensions([KHRTextureTransform]);
  const { document, json } = await readGlb(glb, io, supported);
  const declared = declaredTriangles(glb, supported);
  if (declared > maxTriangles) {
    const [count, limit] = [declared, maxTriangles].map((number) => number.toLocaleString('en'));
    throw new ConversionError(`The file has ${count} triangles, and the limit is ${limit}. Export it with fewer`);
  }
  const { asset, extensionsUsed = [] } = json;
  const root = document.getRoot();
  const materials = root.listMaterials();
  const parts: ModelPart[] = [];
  const meshes = new Set<unknown>();
  const scene = root.getDefaultScene() ?? root.listScenes()[0];
  scene?.traverse((node) => {
    meshes.add(node.getMesh());
    for (const primitive of node.getMesh()?.listPrimitives() ?? []) {
      const part = toPart(node, primitive, materials);
      if (part) parts.push(part);
    }
  });
  if (parts.length === 0) {
    const primitives = root.listMeshes().flatMap((mesh) => mesh.listPrimitives());
    const hasOthers = primitives.some((primitive) => primitive.getMode() !== triangles);
    throw new ConversionError(
      `The file contains no triangles${hasOthers ? ', only points, lines, or strips and fans of triangles' : ''}`,
    );
  }
  parts.forEach(requireCorners);
  const isRealSize = (asset.extras as { size?: { unit?: unknown } } | undefined)?.size?.unit === 'm';
  return {
    parts,
    materials: materials.map(toMaterial),
    credits: creditsOf(asset),
    isRealSize,
    leftOut: leftOutOf(document, meshes, extensionsUsed),
  };
}

interface Corners {
  /** x, y, z per vertex. */
  readonly positions: ArrayLike<number>;
  /** Three per triangle. */
  readonly indices: ArrayLike<number>;
}

/** @throws {ConversionError} if a triangle refers to a missing vertex, or a vertex has no finite position */
export function requireCorners({ positions, indices }: Corners): void {
  const vertices = positions.length / 3;
  let [hasVertices, hasPositions] = [true, true];
  for (let at = 0; at < indices.length; at++) hasVertices &&= indices[at]! < vertices;
  for (let at = 0; at < positions.length; at++) hasPositions &&= Number.isFinite(positions[at]!);
  if (hasVertices && hasPositions) return;
  const damage = hasVertices ? 'a vertex has no finite position' : 'a triangle refers to a missing vertex';
  throw new ConversionError(`The file is damaged: ${damage}. Export it again`);
}

function toPart(node: Node, drawn: Primitive, materials: readonly Material[]): ModelPart | undefined {
  if (drawn.getMode() !== triangles || !drawn.getAttribute('POSITION')) return undefined;
  // Copies, because several nodes may draw it, or another primitive share its vertices.
  const primitive = drawn.clone().setIndices(drawn.getIndices()?.clone() ?? null);
  for (const name of ['POSITION', 'NORMAL']) {
    primitive.setAttribute(name, primitive.getAttribute(name)?.clone() ?? null);
  }
  for (const target of primitive.listTargets()) primitive.removeTarget(target);
  transformPrimitive(primitive, node.getWorldMatrix());

  const positions = elements(primitive, 'POSITION', 3)!;
  const all = { length: positions.length / 3 };
  const corners = primitive.getIndices()?.getArray() ?? Uint32Array.from(all, (_, vertex) => vertex);
  // An incomplete triangle at the end does not count.
  const indices = Uint32Array.from(corners.subarray(0, corners.length - (corners.length % 3)));
  if (indices.length === 0) return undefined;
  const material = primitive.getMaterial();
  return {
    positions,
    normals: elements(primitive, 'NORMAL', 3),
    uvs: textureCoordinates(primitive),
    colors: elements(primitive, 'COLOR_0', 3),
    indices,
    material: material ? materials.indexOf(material) : undefined,
  };
}

/** Returns the first `size` values of each element of an attribute as floats, whatever type the file stores. */
function elements(primitive: Primitive, name: string, size: number): Float32Array | undefined {
  const accessor = primitive.getAttribute(name);
  if (!accessor) return undefined;
  const values = new Float32Array(accessor.getCount() * size);
  for (let index = 0; index < accessor.getCount(); index++) {
    values.set(accessor.getElement(index, []).slice(0, size), index * size);
  }
  return values;
}

/** Returns the coordinates in the base color texture, as if its material chose and transformed no others. */
function textureCoordinates(primitive: Primitive): Float32Array | undefined {
  const info = primitive.getMaterial()?.getBaseColorTextureInfo();
  const transform = info?.getExtension<Transform>(KHRTextureTransform.EXTENSION_NAME);
  const uvs = elements(primitive, `TEXCOORD_${transform?.getTexCoord() ?? info?.getTexCoord() ?? 0}`, 2);
  if (!uvs || !transform) return uvs;
  const [offsetU, offsetV] = transform.getOffset();
  const [scaleU, scaleV] = transform.getScale();
  const [sine, cosine] = [Math.sin(transform.getRotation()), Math.cos(transform.getRotation())];
  for (let at = 0; at < uvs.length; at += 2) {
    const [u, v] = [uvs[at]! * scaleU, uvs[at + 1]! * scaleV];
    uvs[at] = cosine * u + sine * v + offsetU;
    uvs[at + 1] = cosine * v - sine * u + offsetV;
  }
  return uvs;
}

function leftOutOf(document: Document, used: ReadonlySet<unknown>, extensions: readonly string[]): string[] {
  const root = document.getRoot();
  const primitives = root.listMeshes().flatMap((mesh) => mesh.listPrimitives());
  const textures = root.listMaterials().map((material) => material.getBaseColorTexture());
  const unused = root.listMeshes().filter((mesh) => !used.has(mesh)).length;
  const others = primitives.filter((primitive) => primitive.getMode() !== triangles).length;
  const found: readonly [condition: boolean, what: string][] = [
    [others > 0, `${others} ${others === 1 ? 'strip, fan, line or point set' : 'strips, fans, lines or point sets'}`],
    [root.listSkins().length > 0, 'a skin'],
    [primitives.some((primitive) => primitive.listTargets().length > 0), 'morph targets'],
    [extensions.includes('EXT_mesh_gpu_instancing'), 'instances'],
    [extensions.includes('KHR_materials_pbrSpecularGlossiness'), 'materials of the kind specular-glossiness'],
    [extensions.includes('KHR_materials_variants'), 'material variants'],
    [root.listTextures().some((texture) => !textures.includes(texture)), 'textures other than the base color'],
    [extensions.includes('KHR_lights_punctual'), 'lights'],
    [root.listCameras().length > 0, 'cameras'],
    [root.listAnimations().length > 0, 'animations'],
    [unused > 0, `${unused} ${unused === 1 ? 'mesh' : 'meshes'} outside the default scene`],
  ];
  return found.flatMap(([condition, what]) => (condition ? [what] : []));
}

function toMaterial(material: Material): ModelMaterial {
  const [red, green, blue, opacity] = material.getBaseColorFactor();
  return {
    color: [red, green, blue],
    opacity: material.getAlphaMode() === 'OPAQUE' ? 1 : opacity,
    roughness: material.getRoughnessFactor(),
    metallic: material.getMetallicFactor(),
    doubleSided: material.getDoubleSided(),
    texture: toTexture(material.getBaseColorTexture()),
  };
}

function toTexture(texture: Texture | null): ModelMaterial['texture'] {
  const bytes = texture?.getImage();
  if (!texture || !bytes) return undefined;
  // glTF without extensions has no others.
  return { bytes, extension: texture.getMimeType() === 'image/png' ? 'png' : 'jpg' };
}

/** Collects a GLB's credits. gen3d names bundles and terms in `extras`, as models are passed on without other files. */
function creditsOf({ generator, copyright, extras }: { generator?: string; copyright?: string; extras?: unknown }) {
  const { bundles } = (extras ?? {}) as { bundles?: unknown };
  const names = Array.isArray(bundles)
    ? bundles.map(({ name, license }: { name?: unknown; license?: unknown }) => `bundle ${name}, license ${license}`)
    : [];
  const lines = [generator, copyright, ...names].filter((line) => line !== undefined && line !== '');
  // A line break would end the comment that contains it.
  return lines.map((line) => line!.replace(/\p{Cc}+/gu, ' '));
}

/** Writes a number with the 7 significant digits of a float32. */
export const floatText = (value: number): string => String(Number(value.toPrecision(7)));

/** Turns the Y axis of a GLB up to the Z axis; its front, +Z, becomes -Y, which is the front in Blender. */
export function toZUp(vectors: Float32Array): Float32Array {
  const turned = new Float32Array(vectors.length);
  for (let at = 0; at < vectors.length; at += 3) {
    turned[at] = vectors[at]!;
    turned[at + 1] = -vectors[at + 2]!;
    turned[at + 2] = vectors[at + 1]!;
  }
  return turned;
}

/** Converts sRGB to linear light (IEC 61966-2-1). */
export const toSrgb = (value: number) => (value <= 0.0031308 ? value * 12.92 : 1.055 * value ** (1 / 2.4) - 0.055);
