import { ConversionError } from './conversion-error.js';
import { levelName } from './file-names.js';
import { cutFlatFoot, type FlatFoot } from './flat-foot.js';
import { type ModelContent, type ModelFile, readModel } from './model-parts.js';
import { writeObj } from './obj.js';
import { defaultPrintSize, type ModelFormat, type ModelOptions, printFormats } from './options.js';
import type { Extent } from './place-model.js';
import { boxAround, placeModel, scaleTo } from './place-model.js';
import { checkPrint, describePrint, type PrintCheck } from './print-check.js';
import { requiredExtensions } from './read-glb.js';
import { writeStl } from './stl.js';
import { write3mf } from './three-mf.js';
import { writeUsdz } from './usdz.js';

export interface ConvertOptions extends ModelOptions, ModelTools {
  /** The name of the files, without an extension. */
  readonly name: string;
}

export interface Conversion {
  /** The model in the requested format, then the files that it refers to (OBJ) or further levels of detail (GLB). */
  readonly files: readonly ModelFile[];
  /** Sentences for people about the written model. */
  readonly notes: readonly string[];
  /** Present only for the formats that 3D printers use. */
  readonly printCheck?: PrintCheck;
}

type BudgetFigures = { readonly [name in keyof GlbFigures]: number | undefined };

const usualUp: Partial<Record<ModelFormat, 'z'>> = { stl: 'z', '3mf': 'z' };

/**
 * Converts a GLB, or writes another GLB. The unit is the meter, except in STL and 3MF: slicers expect millimeters. Y is
 * up in GLB, OBJ and USDZ, Z in STL and 3MF. An STL has no colors. Models for printing are checked.
 *
 * @throws {ConversionError} if the GLB cannot be read, or cannot be expressed in the format
 * @example
 * // 80 mm long, on a flat foot, in Node.
 * const options = { ...nodeTools, name: 'mug', size: { side: 'longest', meters: 0.08 }, base: 'flat' } as const;
 * const { files, notes, printCheck } = await convertModel(glb, 'stl', options);
 * // For a web page: mug.glb, and mug.lod1.glb with half the triangles.
 * const web = { ...nodeTools, name: 'mug', triangles: 5_000, texture: 512, compress: 'meshopt', lod: 1 } as const;
 * const { files: levels } = await convertModel(glb, 'glb', web);
 */
export async function convertModel(glb: Uint8Array, format: ModelFormat, options: ConvertOptions): Promise<Conversion> {
  return format === 'glb' ? writeGlbs(glb, options) : convertContent(glb, format, options);
}

/** A GLB without options stays as it is, byte for byte. */
async function writeGlbs(glb: Uint8Array, { name, adjustGlb, ...options }: ConvertOptions): Promise<Conversion> {
  const { size, triangles, texture, textureFormat, compress, lod = 0 } = options;
  const given = { size, triangles, texture, textureFormat, compress };
  if (lod === 0 && Object.values(given).every((value) => value === undefined)) {
    requiredExtensions(glb); // Refuses anything but a GLB.
    return { files: [{ name: `${name}.glb`, bytes: glb }], notes: [] };
  }
  const adjust = required(adjustGlb);
  const main = await adjust(glb, given);
  const files = [{ name: `${name}.glb`, bytes: main.glb }];
  const notes = [...(size ? [sizeNote(main.extent, false)] : []), budgetNote(main.after, main.before)];
  if (main.after.triangles > (triangles ?? Infinity)) notes.push(unreachedNote);
  for (let level = 1; level <= lod; level++) {
    const half = (value: number) => Math.max(4, Math.round(value / 2 ** level));
    const { triangles, texture } = main.after;
    const smaller = await adjust(glb, { ...given, triangles: half(triangles), texture: half(texture) });
    const file = { name: levelName(name, level), bytes: smaller.glb };
    files.push(file);
    notes.push(`${file.name}: ${budgetNote(smaller.after)}`);
  }
  return { files, notes };
}

async function convertContent(
  glb: Uint8Array,
  format: Exclude<ModelFormat, 'glb'>,
  options: ConvertOptions,
): Promise<Conversion> {
  const { up = usualUp[format] ?? 'y', renderThumbnail } = options;
  const isForPrinting = printFormats.includes(format);
  const { content, foot, notes, original } = await readWithinBudget(glb, options);
  const thumbnail = format === '3mf' ? await renderThumbnail?.(original) : undefined;
  const isDefault = isForPrinting && !options.size && !content.isRealSize;
  const size = isDefault ? ({ side: 'longest', meters: defaultPrintSize } as const) : options.size;
  const { extent, bottom } = boxAround(content);
  const scale = size ? scaleTo(size, extent) : 1;
  const scaled = extent.map((length) => length * scale);
  if (size || isForPrinting) notes.push(sizeNote(scaled, isForPrinting));
  if (isDefault) notes.push('No size was given, so the longest side is 100 mm.');
  if (foot) notes.push(footNote(foot, 1000 * scale));
  // A model with fewer triangles is a little smaller: without this, it would float above the bed.
  const model = isForPrinting ? placeModel(content, bottom, 1000 * scale, up) : placeModel(content, 0, scale, up);
  const files = writeFiles(model, format, up, thumbnail, options.name);
  if (!isForPrinting) return { files, notes };
  const printCheck = checkPrint(model, up);
  return { files, notes: [...notes, describePrint(printCheck)], printCheck };
}

interface ReadModel {
  readonly original: ModelContent;
  /** The original, or what is left of it above a flat foot. */
  readonly content: ModelContent;
  readonly foot: FlatFoot | undefined;
  readonly notes: string[];
}

/** Reads a GLB, leaves out what other formats cannot express, and applies the budget and the foot of the options. */
async function readWithinBudget(
  glb: Uint8Array,
  { triangles: most = Infinity, texture, base, adjustGlb }: ConvertOptions,
): Promise<ReadModel> {
  const extensions = requiredExtensions(glb);
  const textureFormat = extensions.includes('EXT_texture_webp') ? ('jpeg' as const) : undefined;
  const isLimited = most < Infinity || texture !== undefined;
  const isPlain = !isLimited && (extensions.length === 0 || !adjustGlb);
  for (let limit = most; ; ) {
    const budget = { triangles: limit < Infinity ? limit : undefined, texture, textureFormat };
    const adjusted = isPlain ? undefined : await required(adjustGlb)(glb, budget);
    const original = await readModel(adjusted?.glb ?? glb);
    const foot = base === 'flat' ? cutFlatFoot(original) : undefined;
    const content = { ...original, ...(foot && { parts: foot.parts }) };
    const triangles = content.parts.reduce((sum, { indices }) => sum + indices.length / 3, 0);
    const excess = triangles - most;
    // The cut of a foot adds triangles. The rest of the model makes room for them, if it can.
    if (adjusted && excess > 0 && adjusted.after.triangles <= limit && limit - excess >= 4) {
      limit -= excess;
      continue;
    }
    const { leftOut } = original;
    const notes = leftOut.length > 0 ? [`Left out: ${leftOut.join(', ')}.`] : [];
    if (adjusted && isLimited) {
      // The bytes are those of a GLB, not those of the written format.
      const { before, after } = adjusted;
      notes.push(budgetNote({ ...after, triangles, bytes: undefined }, { ...before, bytes: undefined }));
    }
    if (excess > 0) notes.push(unreachedNote);
    return { original, content, foot, notes };
  }
}

function required(adjustGlb: AdjustGlb | undefined): AdjustGlb {
  if (adjustGlb) return adjustGlb;
  throw new ConversionError('Browsers cannot change the triangles and textures. Use the command line');
}

function writeFiles(
  model: ModelContent,
  format: Exclude<ModelFormat, 'glb'>,
  up: 'y' | 'z',
  thumbnail: Uint8Array | undefined,
  name: string,
): ModelFile[] {
  if (format === 'obj') return writeObj(model, name, up);
  const bytes =
    format === 'stl' ? writeStl(model, up) : format === '3mf' ? write3mf(model, thumbnail) : writeUsdz(model);
  return [{ name: `${name}.${format}`, bytes }];
}

function sizeNote(extent: readonly number[], inMillimeters: boolean): string {
  const [width, height, depth] = extent.map((meters) =>
    Number(inMillimeters ? (1000 * meters).toFixed(1) : meters.toPrecision(3)),
  );
  return `${width} × ${depth} × ${height} ${inMillimeters ? 'mm' : 'm'} (width × depth × height).`;
}

const unreachedNote = 'With fewer triangles, the surface or its texture would tear.';

/** Writes `5,000 triangles (before: 17,294), texture of 512 pixels (before: 1,024), 92 kB (before: 553).` */
function budgetNote(after: BudgetFigures, before?: BudgetFigures): string {
  const figure = (name: keyof BudgetFigures, describe: (value: string) => string, unit = 1) => {
    const [value, earlier] = [after[name], before?.[name]].map(
      (one) => one && Math.max(1, Math.round(one / unit)).toLocaleString('en'),
    );
    if (!value) return [];
    if (value !== earlier) return [`${describe(value)}${earlier ? ` (before: ${earlier})` : ''}`];
    return name === 'texture' ? [] : [describe(value)];
  };
  const figures = [
    ...figure('triangles', (count) => `${count} triangles`),
    ...figure('texture', (pixels) => `texture of ${pixels} pixels`),
    ...figure('bytes', (kilobytes) => `${kilobytes} kB`, 1000),
  ];
  return `${figures.join(', ')}.`;
}

/** @param scale millimeters per unit of the foot */
function footNote({ height, area, stands }: FlatFoot, scale: number): string {
  const cut = `Flat base: the lowest ${Number((height * scale).toPrecision(2))} mm are cut off`;
  const foot = `the foot has ${Number(((area * scale ** 2) / 100).toPrecision(3))} cm²`;
  return `${cut}, ${foot}${stands ? '' : ', and the model may still fall over, so print it with a brim'}.`;
}

/** Options that change a GLB without converting it. */
export type GlbOptions = {
  readonly [name in 'size' | 'triangles' | 'texture' | 'textureFormat' | 'compress']?: ModelOptions[name] | undefined;
};

export interface GlbFigures {
  readonly triangles: number;
  /** The longest side of the largest texture in pixels, or 0 without textures. */
  readonly texture: number;
  readonly bytes: number;
}

export interface AdjustedGlb {
  readonly glb: Uint8Array;
  readonly before: GlbFigures;
  readonly after: GlbFigures;
  /** The new size in meters. */
  readonly extent: Extent;
}

export type AdjustGlb = (glb: Uint8Array, options: GlbOptions) => Promise<AdjustedGlb>;

/** Functions that Node and browsers implement differently. In Node, use `nodeTools`. */
export interface ModelTools {
  /** Makes the PNG that file managers and slicers show for a 3MF. */
  readonly renderThumbnail?: (model: ModelContent) => Promise<Uint8Array>;
  /** GLBs and the options for triangles, textures and compression need it, and so do compressed GLBs. */
  readonly adjustGlb?: AdjustGlb;
}
