import { ConversionError } from './conversion-error.js';
import { type ModelContent, type ModelMaterial, type ModelPart, toLinear, toSrgb } from './model-parts.js';

/** Rows from the top, four sRGB bytes per pixel. */
export interface DecodedTexture {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array | Uint8ClampedArray;
}

/** Decodes a JPEG or PNG. Browsers and Node have different ways to do it. */
export type DecodeTexture = (bytes: Uint8Array) => Promise<DecodedTexture>;

const vertexBytes = 6 * 4 + 3;
const faceBytes = 1 + 3 * 4;

/**
 * Writes a binary PLY with a color per vertex. The unit is the meter. A comment in the file says so, and which axis is
 * up.
 *
 * @throws {ConversionError} if a texture cannot be decoded
 * Source: G. Turk, The PLY Polygon File Format (1994).
 */
export async function writePly(
  { parts, materials, credits }: ModelContent,
  up: 'y' | 'z',
  decodeTexture: DecodeTexture,
): Promise<Uint8Array> {
  const vertexCount = parts.reduce((sum, { positions }) => sum + positions.length / 3, 0);
  const faceCount = parts.reduce((sum, { indices }) => sum + indices.length / 3, 0);
  const header = new TextEncoder().encode(`ply
format binary_little_endian 1.0
comment Units: meters. Axis that points up: ${up.toUpperCase()}
${credits.map((line) => `comment ${line.replace(/[^\x20-\x7e]/g, '?')}\n`).join('')}element vertex ${vertexCount}
${['x', 'y', 'z', 'nx', 'ny', 'nz'].map((name) => `property float ${name}`).join('\n')}
${['red', 'green', 'blue'].map((name) => `property uchar ${name}`).join('\n')}
element face ${faceCount}
property list uchar int vertex_indices
end_header
`);
  const decode = (bytes: Uint8Array) =>
    decodeTexture(bytes).catch((cause: unknown) => {
      throw new ConversionError('The texture is damaged, or not a JPEG or PNG', { cause });
    });
  const textures = await Promise.all(materials.map(({ texture }) => texture && decode(texture.bytes)));
  const file = new Uint8Array(header.length + vertexCount * vertexBytes + faceCount * faceBytes);
  file.set(header);
  const view = new DataView(file.buffer);
  let at = header.length;
  for (const part of parts) {
    const { positions, normals } = part;
    const material = part.material === undefined ? undefined : materials[part.material];
    const texture = part.material === undefined ? undefined : textures[part.material];
    for (let vertex = 0; vertex < positions.length / 3; vertex++) {
      for (const vectors of [positions, normals]) {
        for (let axis = 0; axis < 3; axis++, at += 4) view.setFloat32(at, vectors?.[3 * vertex + axis] ?? 0, true);
      }
      file.set(colorOf(part, vertex, material, texture), at);
      at += 3;
    }
  }
  let firstVertex = 0;
  for (const { positions, indices } of parts) {
    for (let corner = 0; corner < indices.length; corner++) {
      if (corner % 3 === 0) view.setUint8(at++, 3);
      view.setInt32(at, firstVertex + indices[corner]!, true);
      at += 4;
    }
    firstVertex += positions.length / 3;
  }
  return file;
}

/** Returns the color of a vertex, as sRGB bytes. */
function colorOf(
  { uvs }: ModelPart,
  vertex: number,
  material: ModelMaterial | undefined,
  texture: DecodedTexture | undefined,
): number[] {
  const factors = material?.color ?? [1, 1, 1];
  const texel =
    texture && uvs ? sampleBilinear(texture, uvs[2 * vertex]!, uvs[2 * vertex + 1]!) : [1, 1, 1].map(() => 255);
  return factors.map((factor, channel) =>
    factor === 1 ? Math.round(texel[channel]!) : Math.round(toSrgb(factor * toLinear(texel[channel]! / 255)) * 255),
  );
}

/** Clamps at the edges, as textures of gen3d do. v = 0 is the top. */
function sampleBilinear({ width, height, data }: DecodedTexture, u: number, v: number): number[] {
  const x = Math.min(width - 1, Math.max(0, u * width - 0.5));
  const y = Math.min(height - 1, Math.max(0, v * height - 0.5));
  const [left, top] = [Math.floor(x), Math.floor(y)];
  const [right, bottom] = [Math.min(left + 1, width - 1), Math.min(top + 1, height - 1)];
  const [fx, fy] = [x - left, y - top];
  return [0, 1, 2].map((channel) => {
    const texel = (column: number, row: number) => data[4 * (row * width + column) + channel]!;
    const upper = texel(left, top) * (1 - fx) + texel(right, top) * fx;
    const lower = texel(left, bottom) * (1 - fx) + texel(right, bottom) * fx;
    return upper * (1 - fy) + lower * fy;
  });
}
