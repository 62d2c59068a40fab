import { type Document, type GLTF, Logger, type PlatformIO, WebIO } from '@gltf-transform/core';
import { ConversionError } from './conversion-error.js';
import { defaultLimits, type ModelLimits, requireShortJson, requireWithinLimits } from './declared-size.js';

/** Other file types, by their first bytes as Latin-1 text. */
const otherFormats = [
  ['a JPEG', '\xff\xd8\xff'],
  ['a PNG', '\x89PNG'],
  ['a ZIP or USDZ', 'PK\x03\x04'],
  ['a glTF in JSON', '{'],
] as const;

const headerBytes = 12;
const chunkHeaderBytes = 8;
/** A chunk of this type contains the JSON. The number is the ASCII text `JSON`. */
const jsonChunk = 0x4e4f534a;

const damaged = (cause?: unknown) =>
  new ConversionError('The file is damaged. Download, copy or export it again', { cause });

/**
 * Parses a GLB (glTF 2.0, section 4.4).
 *
 * @param io reads the extensions `supported`
 * @param limits how much the file may declare
 * @returns its content, its `asset` object, which glTF-Transform changes, and the names of the extensions that it uses
 * @throws {ConversionError} if it is not a complete GLB 2.0, refers to other files, requires another extension, or
 *   exceeds a limit
 */
export async function readGlb(
  glb: Uint8Array,
  io: PlatformIO = new WebIO(),
  supported: readonly string[] = [],
  limits: ModelLimits = defaultLimits,
): Promise<{ document: Document; asset: GLTF.IAsset; extensions: readonly string[] }> {
  const { asset, accessors = [], extensionsUsed: extensions = [] } = checked(glb, supported, limits).json;
  io.setLogger(new Logger(Logger.Verbosity.SILENT));
  const document = await io.readBinary(glb).catch((cause: unknown) => {
    throw damaged(cause);
  });
  // glTF-Transform silently shortens the values of an accessor that exceeds its buffer view.
  const read = document.getRoot().listAccessors();
  if (read.some((accessor, index) => accessor.getCount() !== accessors[index]?.count)) throw damaged();
  return { document, asset, extensions };
}

/** Returns the extensions without which a GLB cannot be read. @throws {ConversionError} as `readGlb` */
export const requiredExtensions = (glb: Uint8Array): readonly string[] =>
  readContent(glb).json.extensionsRequired ?? [];

/**
 * Checks a GLB without reading its triangles, as `readModel` does before it reads them.
 *
 * @returns the number of triangles that it declares
 * @throws {ConversionError} if the file is not a GLB, contradicts itself, is compressed, or exceeds a limit
 * @example
 * const triangles = declaredTriangles(glb, { ...defaultLimits, triangles: 8_000_000 });
 */
export const declaredTriangles = (glb: Uint8Array, limits: ModelLimits = defaultLimits): number =>
  checked(glb, [], limits).triangles;

interface GlbContent {
  readonly json: GLTF.IGLTF;
  readonly binary: Uint8Array;
}

function checked(glb: Uint8Array, supported: readonly string[], limits: ModelLimits) {
  const { json, binary } = readContent(glb);
  const unsupported = json.extensionsRequired?.filter((extension) => !supported.includes(extension)) ?? [];
  if (unsupported.length > 0) {
    throw new ConversionError(
      `The file requires ${unsupported.join(', ')}, which cannot be converted. Export it without compression and glTF extensions`,
    );
  }
  const external = [...(json.buffers ?? []), ...(json.images ?? [])].find(
    ({ uri }) => uri !== undefined && !uri.startsWith('data:'),
  );
  if (external) {
    throw new ConversionError(`The file refers to ${external.uri}. Export it as one GLB that contains all its data`);
  }
  try {
    return { json, triangles: requireWithinLimits(json, binary, limits) };
  } catch (error) {
    throw error instanceof ConversionError ? error : damaged(error);
  }
}

function readContent(glb: Uint8Array): GlbContent {
  requireComplete(glb);
  let content: GlbContent;
  try {
    content = parseChunks(glb);
  } catch (error) {
    throw error instanceof ConversionError ? error : damaged(error);
  }
  // `asset` is the only required property. JSON of another kind has none.
  if (!content.json?.asset) throw damaged();
  return content;
}

function requireComplete(glb: Uint8Array): void {
  if (glb.length === 0) throw new ConversionError('The file is empty');
  const start = String.fromCharCode(...glb.subarray(0, 4));
  if (start !== 'glTF') {
    const found = otherFormats.find(([, text]) => start.startsWith(text))?.[0];
    throw new ConversionError(`The file is ${found ? `${found}, ` : ''}not a GLB`);
  }
  const header = new DataView(glb.buffer, glb.byteOffset, glb.byteLength);
  if (glb.length < headerBytes) throw new ConversionError('The file is incomplete. Download or copy it again');
  const version = header.getUint32(4, true);
  if (version !== 2) throw new ConversionError(`The file is a GLB of version ${version}. Export it as glTF 2.0`);
  const size = header.getUint32(8, true);
  if (glb.length < size) {
    throw new ConversionError(
      `The file is incomplete: it has ${glb.length} of ${size} bytes. Download or copy it again`,
    );
  }
}

function parseChunks(glb: Uint8Array): GlbContent {
  const view = new DataView(glb.buffer, glb.byteOffset, glb.byteLength);
  if (view.getUint32(headerBytes + 4, true) !== jsonChunk) throw new Error('The first chunk is not JSON');
  const length = view.getUint32(headerBytes, true);
  requireShortJson(length);
  const start = headerBytes + chunkHeaderBytes;
  const end = start + length;
  const json = JSON.parse(new TextDecoder().decode(glb.subarray(start, end)));
  if (glb.length < end + chunkHeaderBytes) return { json, binary: new Uint8Array() };
  const binaryStart = end + chunkHeaderBytes;
  return { json, binary: glb.subarray(binaryStart, binaryStart + view.getUint32(end, true)) };
}
