import { type Document, type GLTF, Logger, type PlatformIO, WebIO } from '@gltf-transform/core';
import { ConversionError } from './conversion-error.js';

/** Other file types, by their first bytes as Latin-1 text. */
const otherFormats = [
  ['a JPEG', '\xff\xd8\xff'],
  ['a PNG', '\x89PNG'],
  ['a ZIP or USDZ', 'PK\x03\x04'],
  ['a glTF in JSON', '{'],
] as const;

const headerBytes = 12;
const jsonStart = 20;

/** Creates the error for whatever fails while the content of a file is read. */
export const damaged = (cause?: unknown) =>
  cause instanceof ConversionError
    ? cause
    : new ConversionError('The file is damaged. Download, copy or export it again', { cause });

/**
 * Parses a GLB (glTF 2.0, section 4.4).
 *
 * @param io reads the extensions `supported`
 * @returns its content, and its JSON as it is in the file
 * @throws {ConversionError} if it is not a complete GLB 2.0, refers to other files, requires another extension, or
 *   contradicts itself
 */
export async function readGlb(
  glb: Uint8Array,
  io: PlatformIO = new WebIO(),
  supported: readonly string[] = [],
): Promise<{ document: Document; json: GLTF.IGLTF }> {
  const json = readJson(glb);
  requireSelfContained(json, supported);
  io.setLogger(new Logger(Logger.Verbosity.SILENT));
  try {
    const document = await io.readBinary(glb);
    const root = document.getRoot();
    // glTF-Transform silently shortens the values of an accessor that exceeds its buffer view.
    const isShortened = root
      .listAccessors()
      .some((accessor, index) => accessor.getCount() !== json.accessors?.[index]?.count);
    if (!isShortened) return { document, json };
  } catch (cause) {
    throw damaged(cause);
  }
  throw damaged();
}

/** Returns the extensions without which a GLB cannot be read. @throws {ConversionError} if it is not a complete GLB */
export const requiredExtensions = (glb: Uint8Array): readonly string[] => readJson(glb).extensionsRequired ?? [];

/**
 * Counts the triangles that a GLB declares, without reading them: once for each node that draws them.
 *
 * @throws {ConversionError} if it is not a complete GLB 2.0, refers to other files, or requires another extension than
 *   those in `supported`
 */
export function declaredTriangles(glb: Uint8Array, supported: readonly string[] = []): number {
  const json = readJson(glb);
  requireSelfContained(json, supported);
  const { accessors = [], meshes = [], nodes = [] } = json;
  const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0);
  try {
    const corners = meshes.map(({ primitives }) =>
      sum(primitives.map(({ indices, attributes }) => accessors[indices ?? attributes.POSITION ?? -1]?.count ?? 0)),
    );
    return Math.floor(sum(nodes.map(({ mesh = -1 }) => corners[mesh] ?? 0)) / 3);
  } catch (cause) {
    throw damaged(cause);
  }
}

function readJson(glb: Uint8Array): GLTF.IGLTF {
  requireComplete(glb);
  let json: GLTF.IGLTF | null;
  try {
    const length = new DataView(glb.buffer, glb.byteOffset).getUint32(headerBytes, true);
    json = JSON.parse(new TextDecoder().decode(glb.subarray(jsonStart, jsonStart + length)));
  } catch (cause) {
    throw damaged(cause);
  }
  // `asset` is the only required property. JSON of another kind has none.
  if (!json?.asset) throw damaged();
  return json;
}

function requireSelfContained(
  { extensionsRequired = [], buffers = [], images = [] }: GLTF.IGLTF,
  supported: readonly string[],
): void {
  const unsupported = extensionsRequired.filter((extension) => !supported.includes(extension));
  if (unsupported.length > 0) {
    throw new ConversionError(
      `The file requires ${unsupported.join(', ')}, which cannot be converted. Export it without compression and glTF extensions`,
    );
  }
  const external = [...buffers, ...images].find(({ uri }) => uri !== undefined && !uri.startsWith('data:'));
  if (external) {
    throw new ConversionError(`The file refers to ${external.uri}. Export it as one GLB that contains all its data`);
  }
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
