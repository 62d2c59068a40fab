import { type ModelFile, readModel } from './model-parts.js';
import { writeObj } from './obj.js';
import { type DecodeTexture, writePly } from './ply.js';
import { writeStl } from './stl.js';
import { writeUsdz } from './usdz.js';

export const modelFormats = ['obj', 'stl', 'usdz', 'ply'] as const;
export type ModelFormat = (typeof modelFormats)[number];

export interface ConvertOptions {
  /** The name of the files, without an extension. */
  readonly name: string;
  /** Only PLY needs it: its vertices have the colors of the texture. */
  readonly decodeTexture: DecodeTexture;
}

/**
 * Converts a GLB. Units are meters. Y is up in OBJ and USDZ, Z in STL and PLY. An STL has no colors.
 *
 * @returns the file in the format, then the files that it refers to (OBJ only)
 * @throws {ConversionError} if the GLB cannot be read or cannot be expressed in the format
 */
export async function convertModel(
  glb: Uint8Array,
  format: ModelFormat,
  { name, decodeTexture }: ConvertOptions,
): Promise<ModelFile[]> {
  const model = await readModel(glb);
  if (format === 'obj') return writeObj(model, name);
  const bytes =
    format === 'stl' ? writeStl(model) : format === 'usdz' ? writeUsdz(model) : await writePly(model, decodeTexture);
  return [{ name: `${name}.${format}`, bytes }];
}
