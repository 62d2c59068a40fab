import { Accessor, BufferUtils, type GLTF, ImageUtils } from '@gltf-transform/core';
import { ConversionError } from './conversion-error.js';

// A GLB of a few hundred bytes can declare gigabytes: in accessors without data, by drawing one mesh a thousand times,
// in the headers of images and in compressed data. So everything that a file declares is summed before any of it is
// allocated, and what it declares about its own bytes must be true.

/** How much a GLB may declare. */
export interface ModelLimits {
  /** Triangles, counted once for each node that draws them. */
  readonly triangles: number;
  /** Vertices, counted in the same way. */
  readonly vertices: number;
  /**
   * Bytes of all accessors, and of all compressed buffer views after decompression. The same limit applies to the
   * accessors of all primitives, and to the files of all images, where each use of a shared one counts, because it is
   * copied.
   */
  readonly bytes: number;
  /** Pixels of all images together. */
  readonly pixels: number;
  /** Entries of each list in the JSON, morph targets, and primitives counted once for each node that draws them. */
  readonly objects: number;
  /** Levels of the node tree. */
  readonly depth: number;
  readonly jsonBytes: number;
}

export const defaultLimits: ModelLimits = {
  triangles: 5_000_000,
  vertices: 10_000_000,
  bytes: 512 * 1024 ** 2,
  pixels: 64 * 1024 ** 2,
  objects: 10_000,
  depth: 256,
  jsonBytes: 16 * 1024 ** 2,
};

/** The lists inside the entries of a list. glTF-Transform creates an object for each of their entries, too. */
const nestedLists: Readonly<Record<string, readonly string[]>> = {
  animations: ['channels', 'samplers'],
  skins: ['joints'],
};

const componentBytes: Record<number, number> = { 5120: 1, 5121: 1, 5122: 2, 5123: 2, 5125: 4, 5126: 4 };

const text = (value: number) => value.toLocaleString('en');

/** Refuses a file that contradicts itself. */
const untrue = (problem: string) => new ConversionError(`The file is damaged: ${problem}. Export it again`);

function requireAtMost(limit: number, count: number, what: string): void {
  if (count <= limit) return;
  throw new ConversionError(
    `The file declares ${text(count)} ${what}, and the limit is ${text(limit)}. Export it with fewer`,
  );
}

/** @throws {ConversionError} if the JSON of a GLB is longer than the limit */
export function requireShortJson(bytes: number, limits: ModelLimits): void {
  requireAtMost(limits.jsonBytes, bytes, 'bytes of JSON');
}

/**
 * Checks what the JSON of a GLB declares, before anything is allocated for it.
 *
 * @param binary the GLB's binary chunk
 * @returns the number of triangles, counted once for each node that draws them
 * @throws {ConversionError} that says what the file declares, if this exceeds a limit or the bytes that the file has
 */
export function requireWithinLimits(json: GLTF.IGLTF, binary: Uint8Array, limits: ModelLimits): number {
  for (const [name, entries] of Object.entries(json)) {
    if (!Array.isArray(entries)) continue;
    requireAtMost(limits.objects, entries.length, name);
    for (const nested of nestedLists[name] ?? []) {
      const parts = entries.flatMap((entry) => entry[nested] ?? []);
      requireAtMost(limits.objects, parts.length, `${nested} of ${name}`);
    }
  }
  const buffers = new DeclaredBuffers(json, binary);
  requireAccessors(json, buffers, limits);
  requireTree(json, limits);
  requireImages(json, buffers, limits);
  return requireMeshes(json, buffers, limits);
}

function requireAccessors(json: GLTF.IGLTF, buffers: DeclaredBuffers, limits: ModelLimits): void {
  let bytes = buffers.decompressedBytes;
  for (const [index, accessor] of list(json, 'accessors').entries()) {
    const name = `accessor ${index}`;
    const elementBytes = elementBytesOf(accessor, name);
    bytes += elementBytes * natural(accessor.count, `${name} has no valid count`);
    if (accessor.bufferView !== undefined) {
      requireElements(buffers, { ...accessor, name, bufferView: accessor.bufferView, elementBytes });
    }
    if (accessor.sparse === undefined) continue;
    const { indices, values, ...sparse } = accessor.sparse;
    const overrides = natural(sparse.count, `${name} has no valid count of sparse values`);
    if (overrides > accessor.count) {
      throw untrue(`${name} replaces ${text(overrides)} of ${text(accessor.count)} values`);
    }
    const indexBytes = elementBytesOf({ type: 'SCALAR', componentType: indices.componentType }, name);
    const parts = [
      { name: `the sparse indices of ${name}`, elementBytes: indexBytes, ...indices },
      { name: `the sparse values of ${name}`, elementBytes, ...values },
    ];
    for (const part of parts) requireElements(buffers, { ...part, count: overrides });
  }
  requireAtMost(limits.bytes, bytes, 'bytes of geometry');
}

function elementBytesOf({ type, componentType }: Pick<GLTF.IAccessor, 'type' | 'componentType'>, name: string): number {
  const component = componentBytes[componentType];
  const isKnown = ['SCALAR', 'VEC2', 'VEC3', 'VEC4', 'MAT2', 'MAT3', 'MAT4'].includes(type);
  if (component === undefined || !isKnown) throw untrue(`${name} has an unknown type`);
  return component * Accessor.getElementSize(type);
}

interface Elements {
  readonly name: string;
  readonly bufferView: number;
  readonly byteOffset?: number;
  readonly count: number;
  readonly elementBytes: number;
}

function requireElements(buffers: DeclaredBuffers, { name, bufferView, byteOffset, count, elementBytes }: Elements) {
  const { length, stride } = buffers.view(bufferView, name);
  const offset = natural(byteOffset ?? 0, `${name} has no valid offset`);
  const bytes = count === 0 ? 0 : offset + (count - 1) * Math.max(elementBytes, stride) + elementBytes;
  if (bytes <= length) return;
  throw untrue(`${name} declares ${text(bytes)} bytes, and its buffer view has ${text(length)}`);
}

/** Checks that the nodes are trees of limited depth. A node with two parents would be drawn twice, or without end. */
function requireTree(json: GLTF.IGLTF, limits: ModelLimits): void {
  const nodes = list(json, 'nodes');
  const isChild = new Uint8Array(nodes.length);
  for (const [index, { children }] of nodes.entries()) {
    for (const child of children ?? []) {
      if (isChild[child] !== 0) throw untrue(`node ${index} has a child that is missing or has another parent`);
      isChild[child] = 1;
    }
  }
  let level = nodes.filter((_, index) => isChild[index] === 0);
  let reached = 0;
  for (let depth = 1; level.length > 0; depth++) {
    requireAtMost(limits.depth, depth, 'levels of nodes');
    reached += level.length;
    level = level.flatMap(({ children }) => (children ?? []).map((child) => nodes[child]!));
  }
  if (reached < nodes.length) throw untrue('a node contains itself');
  for (const [index, { nodes: roots = [] }] of list(json, 'scenes').entries()) {
    if (new Set(roots).size < roots.length) throw untrue(`scene ${index} lists a node twice`);
  }
}

function requireMeshes(json: GLTF.IGLTF, buffers: DeclaredBuffers, limits: ModelLimits): number {
  const accessors = list(json, 'accessors');
  const meshes = list(json, 'meshes');
  const draws = new Float64Array(meshes.length);
  for (const [index, { mesh }] of list(json, 'nodes').entries()) {
    if (mesh === undefined) continue;
    if (draws[mesh] === undefined) throw untrue(`node ${index} refers to a missing mesh`);
    draws[mesh]++;
  }
  const sum = { primitives: 0, targets: 0, triangles: 0, vertices: 0, bytes: 0 };
  for (const [index, { primitives }] of meshes.entries()) {
    // A mesh that no node draws is read, too.
    const times = Math.max(1, draws[index]!);
    for (const primitive of primitives) {
      const name = `a primitive of mesh ${index}`;
      const { indices, attributes, targets = [] } = primitive;
      const counts = Object.values(attributes).map((accessor) => accessors[accessor]?.count);
      const vertices = Math.max(0, ...counts.map((count) => count ?? Number.NaN));
      const corners = indices === undefined ? vertices : (accessors[indices]?.count ?? Number.NaN);
      if (Number.isNaN(vertices + corners)) throw untrue(`${name} refers to a missing accessor`);
      requireDraco(primitive, { corners, vertices }, buffers, name);
      sum.primitives += times;
      sum.targets += targets.length;
      sum.triangles += (times * corners) / 3;
      sum.vertices += times * vertices;
      // Simplifying copies the values, even those that several primitives or targets share.
      for (const index of [attributes, ...targets].flatMap(Object.values)) {
        const accessor = accessors[index]!;
        sum.bytes += elementBytesOf(accessor, name) * accessor.count;
      }
    }
  }
  requireAtMost(limits.objects, sum.primitives, 'primitives');
  requireAtMost(limits.objects, sum.targets, 'morph targets');
  requireAtMost(limits.bytes, sum.bytes, 'bytes of vertices');
  requireAtMost(limits.triangles, Math.floor(sum.triangles), 'triangles');
  requireAtMost(limits.vertices, sum.vertices, 'vertices');
  return Math.floor(sum.triangles);
}

/** Checks that compressed triangles (version 2.2, the one that glTF allows) are as many as the JSON declares. */
function requireDraco(
  { extensions }: GLTF.IMeshPrimitive,
  { corners, vertices }: { corners: number; vertices: number },
  buffers: DeclaredBuffers,
  name: string,
): void {
  const draco = extensions?.KHR_draco_mesh_compression as { bufferView: number } | undefined;
  if (!draco) return;
  const data = buffers.read(draco.bufferView, name);
  const [major, minor, encoder, method, , flags] = data.subarray(5);
  // Flags: metadata, of any length, would come before the numbers.
  const isKnown = major === 2 && minor === 2 && encoder === 1 && (method === 0 || method === 1) && flags === 0;
  if (!isKnown) throw new ConversionError(`The Draco data of ${name} cannot be checked. Export it without compression`);
  // Sequential: faces, points. Edgebreaker: the kind of its traversal, vertices before it splits them, faces.
  const first = readVarint(data, method === 0 ? 11 : 12);
  const second = readVarint(data, first.end);
  const [faces, points] = method === 0 ? [first.value, second.value] : [second.value, first.value];
  if (3 * faces === corners && points <= vertices) return;
  throw untrue(
    `${name} declares ${text(corners / 3)} triangles of ${text(vertices)} vertices, and its Draco data ${text(faces)} of ${text(points)}`,
  );
}

function readVarint(data: Uint8Array, start: number): { value: number; end: number } {
  let value = 0;
  for (let at = start; at < start + 5; at++) {
    const byte = data[at] ?? 0;
    value += (byte & 127) * 128 ** (at - start);
    if (byte < 128) return { value, end: at + 1 };
  }
  return { value: Number.POSITIVE_INFINITY, end: start };
}

function requireImages(json: GLTF.IGLTF, buffers: DeclaredBuffers, limits: ModelLimits): void {
  const used = new Set(list(json, 'textures').map(({ source }) => source));
  const sum = { bytes: 0, pixels: 0 };
  for (const [index, { bufferView, uri }] of list(json, 'images').entries()) {
    const name = `image ${index}`;
    const file = uri === undefined ? buffers.read(bufferView!, name) : BufferUtils.createBufferFromDataURI(uri);
    // Each image gets its own copy, even of a buffer view that several images share.
    sum.bytes += uri === undefined ? buffers.view(bufferView!, name).length : file.length;
    // The declared type is not the one that decoders go by.
    const type = ImageUtils.getMimeType(file);
    const size = type === null ? null : ImageUtils.getSize(file, type);
    if (size) sum.pixels += size[0] * size[1];
    else if (used.has(index)) {
      throw new ConversionError(`The file's ${name} is in an unknown format. Export it with JPEG or PNG textures`);
    }
  }
  requireAtMost(limits.bytes, sum.bytes, 'bytes of images');
  requireAtMost(limits.pixels, sum.pixels, 'pixels of images');
}

interface MeshoptView {
  readonly buffer: number;
  readonly byteOffset?: number;
  readonly byteLength: number;
  readonly byteStride: number;
  readonly count: number;
}

/** The buffers and buffer views of a GLB, checked to be within the bytes that the file has. */
class DeclaredBuffers {
  decompressedBytes = 0;
  readonly #views: { data: Uint8Array | undefined; length: number; stride: number }[];

  constructor(json: GLTF.IGLTF, binary: Uint8Array) {
    const buffers = list(json, 'buffers').map(({ uri }) =>
      // As in glTF-Transform, the binary chunk stands for every buffer without a URI.
      uri === undefined ? binary : BufferUtils.createBufferFromDataURI(uri),
    );
    const slice = (name: string, { buffer, byteOffset, byteLength }: Omit<GLTF.IBufferView, 'byteStride'>) => {
      const start = natural(byteOffset ?? 0, `${name} has no valid offset`);
      const end = start + natural(byteLength, `${name} has no valid length`);
      const available = buffers[buffer]?.length ?? 0;
      if (end <= available) return buffers[buffer]!.subarray(start, end);
      throw untrue(`${name} declares bytes up to ${text(end)}, and its buffer has ${text(available)}`);
    };
    this.#views = list(json, 'bufferViews').map((view, index) => {
      const name = `buffer view ${index}`;
      const meshopt = view.extensions?.EXT_meshopt_compression as MeshoptView | undefined;
      const stride = natural(view.byteStride ?? 0, `${name} has no valid stride`);
      if (!meshopt) return { data: slice(name, view), length: view.byteLength, stride };
      slice(`the compressed ${name}`, meshopt);
      const { count, byteStride } = meshopt;
      const [elements, size] = [count, byteStride].map((one) => natural(one, `${name} has no valid size`));
      const length = elements! * size!;
      if (length !== view.byteLength) {
        throw untrue(`${name} declares ${text(view.byteLength)} bytes, and its compressed data ${text(length)}`);
      }
      this.decompressedBytes += length;
      return { data: undefined, length, stride };
    });
  }

  view(index: number, name: string): { length: number; stride: number } {
    const view = this.#views[index];
    if (!view) throw untrue(`${name} refers to a missing buffer view`);
    return view;
  }

  /** Returns the bytes of a view that is not compressed. */
  read(index: number, name: string): Uint8Array {
    this.view(index, name);
    return this.#views[index]!.data ?? new Uint8Array();
  }
}

function list<
  Name extends 'accessors' | 'buffers' | 'bufferViews' | 'images' | 'meshes' | 'nodes' | 'scenes' | 'textures',
>(json: GLTF.IGLTF, name: Name): NonNullable<GLTF.IGLTF[Name]> {
  const entries = json[name] ?? [];
  if (!Array.isArray(entries)) throw untrue(`${name} is not a list`);
  return entries;
}

function natural(value: unknown, problem: string): number {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
  throw untrue(problem);
}
