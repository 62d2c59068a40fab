import { type ModelContent, type ModelFile, readModel } from './model-parts.js';
import { writeObj } from './obj.js';
import { defaultPrintSize, type ModelFormat, type ModelOptions, printFormats } from './options.js';
import { type Extent, extentOf, placeModel, scaleTo } from './place-model.js';
import { type DecodeTexture, writePly } from './ply.js';
import { checkPrint, describePrint, type PrintCheck } from './print-check.js';
import { writeStl } from './stl.js';
import { write3mf } from './three-mf.js';
import { writeUsdz } from './usdz.js';

export interface ConvertOptions extends ModelOptions {
  /** The name of the files, without an extension. */
  readonly name: string;
  /** Only PLY needs it: its vertices have the colors of the texture. */
  readonly decodeTexture: DecodeTexture;
}

export interface Conversion {
  /** The file in the format, then the files that it refers to (OBJ only). */
  readonly files: readonly ModelFile[];
  /** Sentences for people about the written model. */
  readonly notes: readonly string[];
  /** Only of the formats for printing. */
  readonly printCheck?: PrintCheck;
}

const usualUp: Partial<Record<ModelFormat, 'z'>> = { stl: 'z', '3mf': 'z', ply: 'z' };

/**
 * Converts a GLB. Units are meters, except in STL and 3MF, which have millimeters, because slicers read them. Y is up in
 * OBJ and USDZ, Z in STL, 3MF and PLY. An STL has no colors. Models for printing are checked.
 *
 * @throws {ConversionError} if the GLB cannot be read, or cannot be expressed in the format
 * @example
 * const { files, notes } = await convertModel(glb, 'stl', { name: 'mug', decodeTexture, size: { side: 'longest', meters: 0.08 } });
 */
export async function convertModel(glb: Uint8Array, format: ModelFormat, options: ConvertOptions): Promise<Conversion> {
  const { name, up = usualUp[format] ?? 'y' } = options;
  if (format === 'glb') return { files: [{ name: `${name}.glb`, bytes: glb }], notes: [] };
  const isForPrinting = printFormats.includes(format);
  const size = options.size ?? (isForPrinting ? ({ side: 'longest', meters: defaultPrintSize } as const) : undefined);
  const source = await readModel(glb);
  const extent = extentOf(source);
  const scale = size ? scaleTo(size, extent) : 1;
  const model = placeModel(source, isForPrinting ? 1000 * scale : scale, up);
  const notes = size ? [sizeNote(extent, scale, isForPrinting)] : [];
  if (isForPrinting && !options.size) notes.push('No size was given, so the longest side is 100 mm.');
  const files = await writeFiles(model, format, up, options);
  if (!isForPrinting) return { files, notes };
  const printCheck = checkPrint(model, up);
  return { files, notes: [...notes, describePrint(printCheck)], printCheck };
}

async function writeFiles(
  model: ModelContent,
  format: ModelFormat,
  up: 'y' | 'z',
  { name, decodeTexture }: ConvertOptions,
): Promise<ModelFile[]> {
  if (format === 'obj') return writeObj(model, name, up);
  const bytes =
    format === 'stl'
      ? writeStl(model, up)
      : format === '3mf'
        ? write3mf(model, undefined)
        : format === 'usdz'
          ? writeUsdz(model)
          : await writePly(model, up, decodeTexture);
  return [{ name: `${name}.${format}`, bytes }];
}

function sizeNote(extent: Extent, scale: number, inMillimeters: boolean): string {
  const [width, height, depth] = extent.map((length) => {
    const value = length * scale * (inMillimeters ? 1000 : 1);
    return Number(inMillimeters ? value.toFixed(1) : value.toPrecision(3));
  });
  return `${width} × ${depth} × ${height} ${inMillimeters ? 'mm' : 'm'} (width × depth × height).`;
}
