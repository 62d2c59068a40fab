import { objNames } from './file-names.js';
import type { ModelContent, ModelFile, ModelMaterial } from './model-parts.js';
import { floatText, toSrgb } from './model-parts.js';

/**
 * Writes an OBJ with its materials (MTL) and textures. Colors of vertices follow their positions, as sRGB, which the
 * specification lacks and most programs read. The unit is the meter. A comment in the file says so, and which
 * axis is up. The first file is the OBJ, which names the MTL.
 *
 * @param name of the files, without an extension
 * Source: Wavefront, Object Files and MTL Material Format (Advanced Visualizer, appendix B).
 */
export function writeObj(model: ModelContent, name: string, up: 'y' | 'z'): ModelFile[] {
  const names = objNames(name);
  const comments = model.credits.map((line) => `# ${line}\n`).join('');
  const textures = model.materials.map(({ texture }, index) => {
    if (!texture) return undefined;
    return { name: names.texture(index, texture.extension), bytes: texture.bytes };
  });
  const materials = model.materials.map((material, index) => describeMaterial(material, index, textures[index]?.name));
  const encode = (text: string) => new TextEncoder().encode(comments + text);
  return [
    {
      name: `${name}.obj`,
      bytes: encode(
        `# Units: meters. Axis that points up: ${up.toUpperCase()}\nmtllib ${names.material}\n${describeParts(model)}`,
      ),
    },
    { name: names.material, bytes: encode(materials.join('\n')) },
    ...textures.filter((texture) => texture !== undefined),
  ];
}

const describeMaterial = ({ color, opacity }: ModelMaterial, index: number, texture: string | undefined) =>
  [
    `newmtl material${index}`,
    `Kd ${color.map(floatText).join(' ')}`,
    'Ks 0 0 0',
    `d ${floatText(opacity)}`,
    'illum 1',
    ...(texture === undefined ? [] : [`map_Kd ${texture}`]),
    '',
  ].join('\n');

function describeParts({ parts }: ModelContent): string {
  const lines: string[] = [];
  // Vertices that differ only in texture coordinates share a position, which keeps the surface closed.
  const positionNumbers = new Map<string, number>();
  let [uvCount, normalCount] = [0, 0];
  for (const [part, { positions, normals, uvs, colors, indices, material }] of parts.entries()) {
    const shades = colors?.map(toSrgb);
    lines.push(`o part${part}`);
    const numbers = new Uint32Array(positions.length / 3);
    for (let vertex = 0; vertex < numbers.length; vertex++) {
      const text = row(positions, vertex, 3) + (shades ? ` ${row(shades, vertex, 3)}` : '');
      const known = positionNumbers.get(text);
      numbers[vertex] = known ?? positionNumbers.size + 1;
      if (known !== undefined) continue;
      positionNumbers.set(text, numbers[vertex]!);
      lines.push(`v ${text}`);
    }
    // The origin of OBJ's texture coordinates is at the bottom.
    const flipped = uvs?.map((value, index) => (index % 2 === 1 ? 1 - value : value));
    for (let vertex = 0; flipped && vertex < flipped.length / 2; vertex++) lines.push(`vt ${row(flipped, vertex, 2)}`);
    for (let vertex = 0; normals && vertex < normals.length / 3; vertex++) lines.push(`vn ${row(normals, vertex, 3)}`);
    if (material !== undefined) lines.push(`usemtl material${material}`);
    const corner = (vertex: number) => {
      const uv = uvs ? String(uvCount + vertex + 1) : '';
      return normals ? `${numbers[vertex]}/${uv}/${normalCount + vertex + 1}` : `${numbers[vertex]}${uv && `/${uv}`}`;
    };
    for (let at = 0; at < indices.length; at += 3) {
      lines.push(`f ${corner(indices[at]!)} ${corner(indices[at + 1]!)} ${corner(indices[at + 2]!)}`);
    }
    uvCount += (uvs?.length ?? 0) / 2;
    normalCount += (normals?.length ?? 0) / 3;
  }
  return `${lines.join('\n')}\n`;
}

const row = (values: Float32Array, index: number, size: number) =>
  Array.from(values.subarray(size * index, size * (index + 1)), floatText).join(' ');
