import { type Document, WebIO } from '@gltf-transform/core';
import { ALL_EXTENSIONS } from '@gltf-transform/extensions';
import { dequantize, draco, meshopt, simplify, textureCompress } from '@gltf-transform/functions';
import { MeshoptDecoder, MeshoptEncoder, MeshoptSimplifier } from 'meshoptimizer';
import sharp from 'sharp';
import type { AdjustedGlb, AdjustGlb, GlbFigures, GlbOptions } from './convert-model.js';
import { requireCorners } from './model-parts.js';
import { type Extent, scaleTo } from './place-model.js';
import { damaged, readGlb, requiredExtensions } from './read-glb.js';
import { extentOf, scaleGlb } from './resize-glb.js';

const dracoExtension = 'KHR_draco_mesh_compression';
const quantization = 'KHR_mesh_quantization';
const supported = [dracoExtension, 'EXT_meshopt_compression', quantization, 'EXT_texture_webp'];

/**
 * Reads a GLB, also a compressed one, and writes it in another size, with fewer triangles, smaller textures or another
 * compression. A closed surface stays closed: meshoptimizer moves both sides of a texture's seam together, and the
 * compressions round equal positions to equal ones. For 5.5 million triangles, simplifying takes about 1 GB of memory.
 *
 * @throws {ConversionError} if the GLB cannot be read, or has no length in the direction of the size
 */
export const adjustGlb: AdjustGlb = (glb, options) =>
  adjust(glb, options).catch((error: unknown) => {
    throw damaged(error);
  });

async function adjust(glb: Uint8Array, { size, triangles, compress, ...textures }: GlbOptions): Promise<AdjustedGlb> {
  const io = await createIo(compress === 'draco' || requiredExtensions(glb).includes(dracoExtension));
  const { document, json } = await readGlb(glb, io, supported);
  // glTF-Transform would name itself.
  const { generator } = json.asset;
  if (generator !== undefined) document.getRoot().getAsset().generator = generator;
  const before = figuresOf(document, glb);
  if (document.hasExtension(quantization)) await document.transform(dequantize());
  for (const name of supported.slice(0, 3)) document.disposeExtension(name);

  const longest = Math.max(...extentOf(document));
  if (triangles !== undefined && triangles < before.triangles) {
    requireValidCorners(document);
    const ratio = triangles / before.triangles;
    // The error has no limit. Parts keep their borders, because gaps would appear there.
    await document.transform(simplify({ simplifier: MeshoptSimplifier, ratio, error: 1, lockBorder: true }));
  }
  const extent = extentOf(document);
  // Simplifying cuts off thin ends, so the model is scaled back to the length of its longest side.
  const target = size ?? (longest > 0 ? ({ side: 'longest', meters: longest } as const) : undefined);
  const factor = target ? scaleTo(target, extent) : 1;
  await adjustTextures(document, textures, before);
  if (compress === 'meshopt') await document.transform(meshopt({ encoder: MeshoptEncoder }));
  if (compress === 'draco') await document.transform(draco());
  const written = await io.writeBinary(document);
  const adjusted = factor === 1 && !size ? written : scaleGlb(written, factor, size && extent);
  const scaled = extent.map((length) => length * factor) as unknown as Extent;
  return { glb: adjusted, before, after: figuresOf(document, adjusted), extent: scaled };
}

async function createIo(withDraco: boolean): Promise<WebIO> {
  const io = new WebIO().registerExtensions(ALL_EXTENSIONS);
  await Promise.all([MeshoptDecoder.ready, MeshoptEncoder.ready]);
  io.registerDependencies({ 'meshopt.decoder': MeshoptDecoder, 'meshopt.encoder': MeshoptEncoder });
  if (!withDraco) return io;
  const { default: draco3d } = await import('draco3dgltf');
  const [encoder, decoder] = await Promise.all([draco3d.createEncoderModule(), draco3d.createDecoderModule()]);
  return io.registerDependencies({ 'draco3d.encoder': encoder, 'draco3d.decoder': decoder });
}

/** The simplifier does not check them. */
function requireValidCorners(document: Document): void {
  for (const primitive of document
    .getRoot()
    .listMeshes()
    .flatMap((mesh) => mesh.listPrimitives())) {
    const positions = primitive.getAttribute('POSITION')?.getArray();
    if (positions) requireCorners({ positions, indices: primitive.getIndices()?.getArray() ?? [] });
  }
}

function figuresOf(document: Document, { length: bytes }: Uint8Array): GlbFigures {
  const root = document.getRoot();
  const primitives = root.listMeshes().flatMap((mesh) => mesh.listPrimitives());
  const corners = primitives.map(
    (primitive) => (primitive.getIndices() ?? primitive.getAttribute('POSITION'))?.getCount() ?? 0,
  );
  const texture = Math.max(0, ...root.listTextures().flatMap((one) => one.getSize() ?? []));
  return { triangles: Math.floor(corners.reduce((sum, count) => sum + count, 0) / 3), texture, bytes };
}

/** Encodes the textures again if one is too large, or has another format. */
async function adjustTextures(
  document: Document,
  { texture = Infinity, textureFormat }: Pick<GlbOptions, 'texture' | 'textureFormat'>,
  before: GlbFigures,
): Promise<void> {
  const types = document
    .getRoot()
    .listTextures()
    .map((one) => one.getMimeType());
  const isOther = textureFormat !== undefined && types.some((type) => type !== `image/${textureFormat}`);
  if (before.texture <= texture && !isOther) return;
  const resize = before.texture > texture ? { resize: [texture, texture] as [number, number] } : {};
  await document.transform(
    textureCompress({ encoder: sharp, ...resize, ...(textureFormat && { targetFormat: textureFormat }) }),
  );
}
