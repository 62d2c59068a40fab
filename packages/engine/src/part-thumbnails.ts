import { sniffFileType } from '@gen3d/schema/rules';
import { EngineError } from './base/errors.js';
import type { RgbaImage } from './base/image.js';
import { byteOfLinear, linearOfSrgb } from './base/image.js';
import type { TriangleMesh } from './base/mesh.js';
import { sharp } from './base/sharp.js';
import { encodeThumbnail, renderThumbnail, type Thumbnails } from './render/render-view.js';
import { vertexNormals } from './surface/normals.js';

/** Triangles with one material, as in `TexturedMesh`. */
export interface RenderedPart extends TriangleMesh {
  /** Default: computed from the triangles. */
  readonly normals: Float32Array | undefined;
  readonly uvs: Float32Array | undefined;
  /** Linear, per vertex. Multiply the color of the material. */
  readonly colors?: Float32Array | undefined;
  /** Index of the material. Undefined for white. */
  readonly material: number | undefined;
}

export interface RenderedMaterial {
  /** Linear, 0..1. Multiplies the texture. */
  readonly color: readonly [number, number, number];
  /** A PNG or JPEG file. */
  readonly texture: { readonly bytes: Uint8Array } | undefined;
}

const white: RenderedMaterial = { color: [1, 1, 1], texture: undefined };

/**
 * Renders the thumbnails of a model that another program made, with any number of parts and materials.
 *
 * @throws {EngineError} `inference_failed` if a texture cannot be decoded
 */
export async function renderPartThumbnails(
  parts: readonly RenderedPart[],
  materials: readonly RenderedMaterial[],
): Promise<Thumbnails> {
  const tiles = [...materials, white];
  // All materials become one texture, tile below tile, which takes at most 16 MB.
  const side = Math.max(1, Math.floor(Math.min(1024, 2048 / Math.sqrt(tiles.length))));
  const data = new Uint8Array(4 * side * side * tiles.length);
  // Materials can share a texture, which is then decoded once.
  const decoded = new Map<Uint8Array, Promise<Uint8Array>>();
  for (const [tile, material] of tiles.entries()) {
    const { bytes } = material.texture ?? {};
    if (bytes && !decoded.has(bytes)) decoded.set(bytes, decodeTexture(bytes, side));
    const pixels = bytes ? await decoded.get(bytes)! : new Uint8Array(4 * side * side).fill(255);
    data.set(tinted(pixels, material.color), 4 * side * side * tile);
  }
  const baseColor: RgbaImage = { width: side, height: side * tiles.length, data };

  const count = (size: (part: RenderedPart) => number) => parts.reduce((sum, part) => sum + size(part), 0);
  const vertices = count(({ positions }) => positions.length / 3);
  const mesh = {
    positions: new Float32Array(3 * vertices),
    normals: new Float32Array(3 * vertices),
    uvs: new Float32Array(2 * vertices),
    colors: new Float32Array(3 * vertices).fill(1),
    indices: new Uint32Array(count(({ indices }) => indices.length)),
  };
  let first = 0;
  let corner = 0;
  for (const part of parts) {
    mesh.positions.set(part.positions, 3 * first);
    mesh.normals.set(part.normals ?? vertexNormals(part), 3 * first);
    if (part.colors) mesh.colors.set(part.colors, 3 * first);
    const tile = part.material ?? materials.length;
    for (let vertex = 0; vertex < part.positions.length / 3; vertex++) {
      const [u, v] = [repeated(part.uvs?.[2 * vertex] ?? 0.5), repeated(part.uvs?.[2 * vertex + 1] ?? 0.5)];
      // Half a texel from the edges, where the neighboring tiles begin.
      const inTile = Math.min(Math.max(v, 0.5 / side), 1 - 0.5 / side);
      mesh.uvs.set([u, (tile + inTile) / tiles.length], 2 * (first + vertex));
    }
    for (const index of part.indices) mesh.indices[corner++] = first + index;
    first += part.positions.length / 3;
  }
  return encodeThumbnail(renderThumbnail(mesh, baseColor));
}

const repeated = (coordinate: number) =>
  coordinate >= 0 && coordinate <= 1 ? coordinate : coordinate - Math.floor(coordinate);

/** Multiplies sRGB pixels by a linear color. */
function tinted(pixels: Uint8Array, color: readonly number[]): Uint8Array {
  if (color.every((channel) => channel === 1)) return pixels;
  const multiplied = color.map((factor) =>
    Uint8Array.from({ length: 256 }, (_, byte) => byteOfLinear(linearOfSrgb(byte / 255) * factor)),
  );
  return pixels.map((byte, index) => multiplied[index % 4]?.[byte] ?? byte);
}

async function decodeTexture(bytes: Uint8Array, side: number): Promise<Uint8Array> {
  try {
    const type = sniffFileType(bytes);
    if (type !== 'png' && type !== 'jpeg') throw new Error('A texture is neither a PNG nor a JPEG');
    const image = sharp(bytes, { limitInputPixels: 100_000_000 }).resize(side, side, { fit: 'fill' });
    return await image.toColorspace('srgb').ensureAlpha().raw().toBuffer();
  } catch (cause) {
    throw new EngineError('inference_failed', 'A texture of the model cannot be decoded.', { cause });
  }
}
