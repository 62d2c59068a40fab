import { Accessor, BufferUtils, type GLTF, ImageUtils } from '@gltf-transform/core';
import { ConversionError } from './conversion-error.js';

// A GLB of a few hundred bytes can declare gigabytes: in accessors without data, by drawing one mesh a thousand times,
// in the headers of images and in compressed data. So one pass sums what a file declares before any of it is allocated.
// A reference to something that is missing throws a TypeError, which `readGlb` reports as a damaged file.

/** How much a GLB may declare. */
export interface ModelLimits {
  /** Triangles, counted once for each node that draws them. Twice as many vertices are allowed. */
  readonly triangles: number;
  /**
   * Bytes of all accessors and of all buffer views after decompression. The same limit applies to the accessors of all
   * primitives, and to the files of all images, where each use of a shared one counts, because it is copied.
   */
  readonly bytes: number;
  /** Pixels of all images together. */
  readonly pixels: number;
}

export const defaultLimits: ModelLimits = {
  triangles: 5_000_000,
  bytes: 512 * 1024 ** 2,
  pixels: 64 * 1024 ** 2,
};

const maxJsonBytes = 16 * 1024 ** 2;
/** Objects, numbers and strings in the JSON. glTF-Transform takes up to 2 kB for an object. */
const maxValues = 250_000;
/** Primitives, counted once for each node that draws them. */
const maxPrimitives = 10_000;
/** Levels of the node tree. */
const maxDepth = 256;

const componentBytes: Record<number, number> = { 5120: 1, 5121: 1, 5122: 2, 5123: 2, 5125: 4, 5126: 4 };
const types: ReadonlySet<string> = new Set(['SCALAR', 'VEC2', 'VEC3', 'VEC4', 'MAT2', 'MAT3', 'MAT4']);

const text = (value: number) => value.toLocaleString('en');

/** Refuses a file that contradicts itself. */
const untrue = (problem: string) => new ConversionError(`The file is damaged: ${problem}. Export it again`);

/** Refuses a count above the limit, or NaN, which is a sum with a size that is not a number. */
function requireAtMost(limit: number, count: number, what: string): void {
  if (count <= limit) return;
  throw new ConversionError(
    `The file declares ${text(count)} ${what}, and the limit is ${text(limit)}. Export it with fewer`,
  );
}

/** @throws {ConversionError} if the JSON of a GLB is too long to be parsed */
export const requireShortJson = (bytes: number): void => requireAtMost(maxJsonBytes, bytes, 'bytes of JSON');

/**
 * Checks what the JSON of a GLB declares, before anything is allocated for it.
 *
 * @param binary the GLB's binary chunk
 * @returns the number of triangles, counted once for each node that draws them
 * @throws {ConversionError} that says what the file declares, if this exceeds a limit or the bytes that the file has
 */
export function requireWithinLimits(json: GLTF.IGLTF, binary: Uint8Array, limits: ModelLimits): number {
  const { accessors = [], bufferViews = [], buffers = [], images = [], meshes = [], nodes = [], textures = [] } = json;
  requireAtMost(maxValues, valuesIn(json), 'values in its JSON');
  requireTree(nodes);

  // As in glTF-Transform, the binary chunk stands for every buffer without a URI.
  const contents = buffers.map(({ uri }) => (uri === undefined ? binary : BufferUtils.createBufferFromDataURI(uri)));
  const bytesIn = (view: number) => {
    const { buffer, byteOffset = 0, byteLength } = bufferViews[view]!;
    const bytes = contents[buffer]!;
    const end = byteOffset + byteLength;
    if (end <= bytes.length) return bytes.subarray(byteOffset, end);
    throw untrue(`buffer view ${view} declares bytes up to ${text(end)}, and its buffer has ${text(bytes.length)}`);
  };
  const sizes = accessors.map((accessor, index) => requireAccessor(accessor, `accessor ${index}`, bufferViews));
  let geometryBytes = sizes.reduce((sum, size) => sum + size, 0);
  for (const { extensions } of bufferViews) {
    const meshopt = extensions?.EXT_meshopt_compression as { count: number; byteStride: number } | undefined;
    if (meshopt) geometryBytes += natural(meshopt.count, 'compressed data') * natural(meshopt.byteStride, 'its stride');
  }
  requireAtMost(limits.bytes, geometryBytes, 'bytes of geometry');

  const draws = new Map<number, number>();
  for (const { mesh } of nodes)
    if (mesh !== undefined) draws.set(natural(mesh, "a node's mesh"), (draws.get(mesh) ?? 0) + 1);
  for (const mesh of draws.keys()) if (!meshes[mesh]) throw untrue(`a node refers to the missing mesh ${mesh}`);
  const sum = { primitives: 0, triangles: 0, vertices: 0, bytes: 0 };
  for (const [index, { primitives }] of meshes.entries()) {
    // A mesh that no node draws is read, too.
    const times = draws.get(index) ?? 1;
    for (const { indices, attributes, targets = [], extensions } of primitives) {
      const draco = extensions?.KHR_draco_mesh_compression as { bufferView: number } | undefined;
      const { faces, points } = draco ? dracoCounts(bytesIn(draco.bufferView)) : { faces: 0, points: 0 };
      const vertices = Math.max(points, ...Object.values(attributes).map((accessor) => accessors[accessor]!.count));
      const corners = Math.max(3 * faces, indices === undefined ? vertices : accessors[indices]!.count);
      sum.primitives += times;
      sum.triangles += (times * corners) / 3;
      sum.vertices += times * vertices;
      // Simplifying copies the values, even those that several primitives or targets share. Draco decodes all points.
      for (const accessor of [attributes, ...targets].flatMap(Object.values)) {
        const { count } = accessors[accessor]!;
        sum.bytes += points > count ? (sizes[accessor]! / count) * points : sizes[accessor]!;
      }
    }
  }
  requireAtMost(maxPrimitives, sum.primitives, 'primitives');
  requireAtMost(limits.bytes, sum.bytes, 'bytes of vertices');
  requireAtMost(limits.triangles, Math.floor(sum.triangles), 'triangles');
  requireAtMost(2 * limits.triangles, sum.vertices, 'vertices');

  const used = new Set(textures.map(({ source }) => source));
  const image = { bytes: 0, pixels: 0 };
  for (const [index, { bufferView, uri }] of images.entries()) {
    const file = uri === undefined ? bytesIn(bufferView!) : BufferUtils.createBufferFromDataURI(uri);
    image.bytes += file.length;
    // The declared type is not the one that decoders go by.
    const type = ImageUtils.getMimeType(file);
    const size = type === null ? null : ImageUtils.getSize(file, type);
    if (size) image.pixels += size[0] * size[1];
    else if (used.has(index)) {
      throw new ConversionError(
        `The file's image ${index} is in an unknown format. Export it with JPEG or PNG textures`,
      );
    }
  }
  requireAtMost(limits.bytes, image.bytes, 'bytes of images');
  requireAtMost(limits.pixels, image.pixels, 'pixels of images');
  return Math.floor(sum.triangles);
}

const valuesIn = (value: unknown): number =>
  typeof value === 'object' && value !== null
    ? Object.values(value).reduce((sum: number, entry) => sum + valuesIn(entry), 1)
    : 1;

/** Checks that the nodes are trees of limited depth. A node that contains itself would be drawn forever. */
function requireTree(nodes: readonly GLTF.INode[]): void {
  const parents = new Map<number, number>();
  for (const [index, { children = [] }] of nodes.entries()) {
    for (const child of children) {
      if (parents.has(natural(child, "a node's child"))) throw untrue(`node ${child} has two parents`);
      parents.set(child, index);
    }
  }
  for (const index of nodes.keys()) {
    let depth = 1;
    for (let at = parents.get(index); at !== undefined && depth <= maxDepth; at = parents.get(at)) depth++;
    if (depth > maxDepth) throw untrue(`node ${index} is more than ${maxDepth} levels deep, or contains itself`);
  }
}

/** @returns the bytes of the accessor's values. @throws {ConversionError} if its buffer views have fewer */
function requireAccessor(accessor: GLTF.IAccessor, name: string, views: readonly GLTF.IBufferView[]): number {
  const { type, componentType, count, sparse } = accessor;
  if (!types.has(type) || componentBytes[componentType] === undefined) throw untrue(`${name} has an unknown type`);
  const elementBytes = componentBytes[componentType] * Accessor.getElementSize(type);
  const requireElements = (bytes: number, { bufferView, byteOffset = 0 }: Partial<GLTF.IAccessor>, count: number) => {
    if (bufferView === undefined || count === 0) return;
    const { byteLength, byteStride = 0 } = views[bufferView]!;
    const needed = byteOffset + (count - 1) * Math.max(bytes, byteStride) + bytes;
    if (!(needed <= byteLength)) {
      throw untrue(`${name} declares ${text(needed)} bytes, and its buffer view has ${text(byteLength)}`);
    }
  };
  requireElements(elementBytes, accessor, natural(count, name));
  if (sparse && natural(sparse.count, name) > count) {
    throw untrue(`${name} replaces ${text(sparse.count)} of ${text(count)} values`);
  }
  if (sparse) requireElements(componentBytes[sparse.indices.componentType]!, sparse.indices, sparse.count);
  if (sparse) requireElements(elementBytes, sparse.values, sparse.count);
  return elementBytes * count;
}

/** Reads the counts by which Draco's decoder allocates memory (version 2.2, the one that glTF allows). */
function dracoCounts(data: Uint8Array): { faces: number; points: number } {
  const [major, minor, encoder, method, , flags] = data.subarray(5);
  // With flags, metadata of any length would come before the numbers.
  const isKnown = major === 2 && minor === 2 && encoder === 1 && (method === 0 || method === 1) && flags === 0;
  if (!isKnown)
    throw new ConversionError('The Draco data of the file cannot be checked. Export it without compression');
  // Sequential: faces, points. Edgebreaker: the kind of its traversal, vertices before it splits them, faces.
  let at = method === 0 ? 11 : 12;
  const varint = () => {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = data[at++] ?? 0;
      value += (byte & 127) * scale;
      if (byte < 128 || scale > 2 ** 35) return value;
    }
  };
  const [first, second] = [varint(), varint()];
  return method === 0 ? { faces: first, points: second } : { faces: second, points: first };
}

/** Checks a count or an index. glTF-Transform would also take an index that is a text. */
function natural(value: unknown, name: string): number {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
  throw untrue(`${name} has no valid number`);
}
