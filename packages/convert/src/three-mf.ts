import { escapeHtml } from '@gen3d/schema/rules';
import { strToU8, zipSync } from 'fflate';
import { floatText, type ModelContent, type ModelFile, type ModelMaterial, toSrgb } from './model-parts.js';
import { isCollapsed, type WeldedMesh, weld } from './weld.js';

const schemas = 'http://schemas.microsoft.com/3dmanufacturing';
const packageSchemas = 'http://schemas.openxmlformats.org/package/2006';
const modelPath = '3D/3dmodel.model';

/**
 * Writes a 3MF in millimeters, Z up, with the textures. Readers without the materials extension, such as most slicers,
 * ignore the colors and read the shape. The thumbnail is a PNG that file managers and slicers show.
 *
 * Source: 3MF Consortium, Core Specification 1.3, and Materials and Properties Extension 1.2.
 */
export function write3mf(model: ModelContent, thumbnail: Uint8Array | undefined): Uint8Array {
  const textures = model.materials.map(({ texture }, index) =>
    texture ? { name: `3D/Textures/${index}.${texture.extension}`, bytes: texture.bytes } : undefined,
  );
  const usedTextures = textures.filter((texture) => texture !== undefined);
  const preview = thumbnail ? [{ name: 'Metadata/thumbnail.png', bytes: thumbnail }] : [];
  const files: ModelFile[] = [
    { name: '[Content_Types].xml', bytes: strToU8(contentTypes) },
    {
      name: '_rels/.rels',
      bytes: relationships([
        [`${schemas}/2013/01/3dmodel`, modelPath],
        ...preview.map(({ name }) => [`${packageSchemas}/relationships/metadata/thumbnail`, name] as const),
      ]),
    },
    { name: modelPath, bytes: strToU8(describeModel(model, textures)) },
    {
      name: '3D/_rels/3dmodel.model.rels',
      bytes: relationships(usedTextures.map(({ name }) => [`${schemas}/2013/01/3dtexture`, name])),
    },
    ...usedTextures,
    ...preview,
  ];
  // The first date that the format can express: the same model gives the same archive.
  return zipSync(Object.fromEntries(files.map(({ name, bytes }) => [name, bytes])), { mtime: new Date(1980, 0, 1) });
}

const xml = '<?xml version="1.0" encoding="UTF-8"?>\n';

const contentTypes = `${xml}<Types xmlns="${packageSchemas}/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Default Extension="model" ContentType="application/vnd.ms-package.3dmanufacturing-3dmodel+xml"/>
<Default Extension="png" ContentType="image/png"/>
<Default Extension="jpg" ContentType="image/jpeg"/>
</Types>
`;

const relationships = (targets: readonly (readonly [type: string, path: string])[]) =>
  strToU8(`${xml}<Relationships xmlns="${packageSchemas}/relationships">
${targets.map(([type, path], index) => `<Relationship Id="r${index}" Type="${type}" Target="/${path}"/>\n`).join('')}</Relationships>
`);

/** Ids: one per material for its texture, then one per part for its colors, then the object's. */
function describeModel(model: ModelContent, textures: readonly (ModelFile | undefined)[]): string {
  const mesh = weld(model.parts);
  const firstColors = 1 + textures.length;
  const objectId = firstColors + model.parts.length;
  const resources = textures.map((texture, index) => {
    if (!texture) return '';
    const type = texture.name.endsWith('png') ? 'png' : 'jpeg';
    return `<m:texture2d id="${index + 1}" path="/${texture.name}" contenttype="image/${type}" tilestyleu="clamp" tilestylev="clamp"/>\n`;
  });
  const colors = model.parts.map(({ uvs, colors, material = -1 }, index) => {
    if (!uvs || !textures[material]) {
      const { color } = model.materials[material] ?? white;
      const rows = colors
        ? Array.from({ length: colors.length / 3 }, (_, at) =>
            color.map((value, axis) => value * colors[3 * at + axis]!),
          )
        : [color];
      const list = rows.map((row) => `<m:color color="${hexColor(row)}"/>`).join('\n');
      return `<m:colorgroup id="${firstColors + index}">${list}</m:colorgroup>\n`;
    }
    // v = 0 is the bottom of the texture.
    const rows = Array.from({ length: uvs.length / 2 }, (_, at) => [uvs[2 * at]!, 1 - uvs[2 * at + 1]!].map(floatText));
    const coordinates = rows.map(([u, v]) => `<m:tex2coord u="${u}" v="${v}"/>`).join('\n');
    return `<m:texture2dgroup id="${firstColors + index}" texid="${material + 1}">\n${coordinates}\n</m:texture2dgroup>\n`;
  });
  const triangles = model.parts.flatMap(({ indices, uvs, colors, material = -1 }, index) => {
    const isTextured = uvs !== undefined && textures[material] !== undefined;
    const hasColors = isTextured || colors !== undefined;
    const first = mesh.firstTriangles[index]!;
    return Array.from({ length: indices.length / 3 }, (_, triangle) => {
      // The format does not allow triangles without area. The neighbors of their other corners stay connected.
      if (isCollapsed(mesh, first + triangle)) return '';
      const [a, b, c] = mesh.triangles.subarray(3 * (first + triangle));
      const [p1, p2, p3] = hasColors ? indices.subarray(3 * triangle) : [0, 0, 0];
      return `<triangle v1="${a}" v2="${b}" v3="${c}" pid="${firstColors + index}" p1="${p1}" p2="${p2}" p3="${p3}"/>\n`;
    });
  });
  return `${xml}<model unit="millimeter" xml:lang="en-US" xmlns="${schemas}/core/2015/02" xmlns:m="${schemas}/material/2015/02">
<metadata name="Description">${escapeHtml(model.credits.join('; '))}</metadata>
<resources>
${resources.join('')}${colors.join('')}<object id="${objectId}" type="model" pid="${firstColors}" pindex="0"><mesh>
<vertices>
${vertices(mesh)}</vertices>
<triangles>
${triangles.join('')}</triangles>
</mesh></object>
</resources>
<build><item objectid="${objectId}" transform="1 0 0 0 1 0 0 0 1 ${mesh.min.map((value) => floatText(-value)).join(' ')}"/></build>
</model>
`;
}

function vertices({ positions }: WeldedMesh): string {
  const rows: string[] = [];
  for (let at = 0; at < positions.length; at += 3) {
    const [x, y, z] = positions.slice(at, at + 3).map(floatText);
    rows.push(`<vertex x="${x}" y="${y}" z="${z}"/>\n`);
  }
  return rows.join('');
}

const white: Pick<ModelMaterial, 'color'> = { color: [1, 1, 1] };

function hexColor(color: readonly number[]): string {
  const bytes = color.map((value) => Math.round(255 * toSrgb(Math.min(1, Math.max(0, value)))));
  return `#${bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}
