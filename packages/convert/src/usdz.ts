import { type Zippable, zipSync } from 'fflate';
import type { ModelContent, ModelFile, ModelMaterial, ModelPart } from './model-parts.js';
import { floatText } from './model-parts.js';

/** Each file in the archive begins at a multiple of this number of bytes. */
const alignment = 64;
/** A local file header has this many bytes before the name and the extra field (APPNOTE.TXT 4.3.7). */
const localHeaderBytes = 30;
/** An extra field that other programs ignore. Its own header has four bytes. */
const paddingId = 0x1986;

/**
 * Writes a USDZ for AR on Apple's devices: a text layer with `UsdPreviewSurface` materials, and the textures. The unit
 * is the meter, and Y is up.
 *
 * Source: OpenUSD, Usdz File Format Specification 1.3, and UsdPreviewSurface Specification 2.6.
 */
export function writeUsdz(model: ModelContent): Uint8Array {
  const textures = model.materials.map(({ texture }, index) =>
    texture ? { name: `textures/${index}.${texture.extension}`, bytes: texture.bytes } : undefined,
  );
  const materials = model.materials.map((material, index) => describeMaterial(material, index, textures[index]?.name));
  const layer = `#usda 1.0
(
    defaultPrim = "Model"
    doc = ${quoted(model.credits.join('; '))}
    metersPerUnit = 1
    upAxis = "Y"
)

def Xform "Model" (
    kind = "component"
)
{
${model.parts.map((part, index) => describePart(part, index, model.materials)).join('')}
    def Scope "Materials"
    {
${materials.join('')}    }
}
`;
  const files = [{ name: 'model.usda', bytes: new TextEncoder().encode(layer) }];
  return archive([...files, ...textures.filter((texture) => texture !== undefined)]);
}

/** Stores files without compression, as the format requires, and in their order: the layer must be the first. */
function archive(files: readonly ModelFile[]): Uint8Array {
  const entries: Zippable = {};
  let size = 0;
  for (const { name, bytes } of files) {
    const start = size + localHeaderBytes + name.length + 4;
    const padding = new Uint8Array((alignment - (start % alignment)) % alignment);
    entries[name] = [bytes, { extra: { [paddingId]: padding } }];
    size = start + padding.length + bytes.length;
  }
  // The first date that the format can express: the same model gives the same archive.
  return zipSync(entries, { level: 0, mtime: new Date(1980, 0, 1) });
}

const quoted = (text: string) => `"${text.replace(/[\\"]/g, '\\$&')}"`;

function describePart(
  { positions, normals, uvs, colors, indices, material }: ModelPart,
  index: number,
  materials: readonly ModelMaterial[],
): string {
  const doubleSided = material !== undefined && materials[material]?.doubleSided ? 1 : 0;
  // A bound material would replace the colors of the vertices.
  const hasOnlyColors = colors !== undefined && (material === undefined || !materials[material]?.texture);
  const binding =
    material === undefined || hasOnlyColors
      ? ''
      : `\n        rel material:binding = </Model/Materials/Material${material}>`;
  return `    def Mesh "Part${index}" (
        prepend apiSchemas = ["MaterialBindingAPI"]
    )
    {
        uniform bool doubleSided = ${doubleSided}
        float3[] extent = [${extentOf(positions).join(', ')}]
        int[] faceVertexCounts = [${new Array(indices.length / 3).fill(3).join(', ')}]
        int[] faceVertexIndices = [${indices.join(', ')}]${binding}
        point3f[] points = [${tuples(positions, 3)}]
${normals ? `        normal3f[] normals = [${tuples(normals, 3)}] (\n            interpolation = "vertex"\n        )\n` : ''}${
  uvs
    ? `        texCoord2f[] primvars:st = [${tuples(fromBottom(uvs), 2)}] (\n            interpolation = "vertex"\n        )\n`
    : ''
}${
  colors
    ? `        color3f[] primvars:displayColor = [${tuples(colors, 3)}] (\n            interpolation = "vertex"\n        )\n`
    : ''
}        uniform token subdivisionScheme = "none"
    }
`;
}

/** Flips texture coordinates, because their origin is at the bottom in USD. */
const fromBottom = (uvs: Float32Array) => uvs.map((value, index) => (index % 2 === 1 ? 1 - value : value));

function tuples(values: Float32Array, size: number): string {
  const rows: string[] = [];
  for (let at = 0; at < values.length; at += size) rows.push(tuple(Array.from(values.subarray(at, at + size))));
  return rows.join(', ');
}

const tuple = (values: readonly number[]) => `(${values.map(floatText).join(', ')})`;

/** Returns the smallest and the largest coordinates, as USD writes them. */
function extentOf(positions: Float32Array): string[] {
  const min = [Infinity, Infinity, Infinity];
  const max = [-Infinity, -Infinity, -Infinity];
  for (let at = 0; at < positions.length; at++) {
    min[at % 3] = Math.min(min[at % 3]!, positions[at]!);
    max[at % 3] = Math.max(max[at % 3]!, positions[at]!);
  }
  return [tuple(min), tuple(max)];
}

function describeMaterial(
  { color, opacity, roughness, metallic }: ModelMaterial,
  index: number,
  texture: string | undefined,
): string {
  const path = `/Model/Materials/Material${index}`;
  const diffuse =
    texture === undefined
      ? `color3f inputs:diffuseColor = ${tuple(color)}`
      : `color3f inputs:diffuseColor.connect = <${path}/Texture.outputs:rgb>`;
  const shaders =
    texture === undefined
      ? ''
      : `
            def Shader "TextureCoordinates"
            {
                uniform token info:id = "UsdPrimvarReader_float2"
                string inputs:varname = "st"
                float2 outputs:result
            }

            def Shader "Texture"
            {
                uniform token info:id = "UsdUVTexture"
                asset inputs:file = @${texture}@
                float4 inputs:scale = ${tuple([...color, 1])}
                token inputs:sourceColorSpace = "sRGB"
                float2 inputs:st.connect = <${path}/TextureCoordinates.outputs:result>
                token inputs:wrapS = "clamp"
                token inputs:wrapT = "clamp"
                float3 outputs:rgb
            }
`;
  return `        def Material "Material${index}"
        {
            token outputs:surface.connect = <${path}/Surface.outputs:surface>

            def Shader "Surface"
            {
                uniform token info:id = "UsdPreviewSurface"
                ${diffuse}
                float inputs:metallic = ${floatText(metallic)}
                float inputs:opacity = ${floatText(opacity)}
                float inputs:roughness = ${floatText(roughness)}
                token outputs:surface
            }
${shaders}        }
`;
}
