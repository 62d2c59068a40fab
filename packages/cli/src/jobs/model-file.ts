import { basename, dirname, extname, join } from 'node:path';
import type { ModelContent, PrintCheck } from '@gen3d/convert';
import type { ModelOptionTexts } from '@gen3d/convert/options';
import { UsageError } from '../exit/failure.js';
import { findTarget, isStdout, requireWritable } from '../files/target.js';
import { writeOutput } from '../files/write-file.js';
import { print, say, shownName } from '../terminal/terminal.js';
import { readModelOptions } from './model-options.js';
import { formatOf } from './output-file.js';

export interface WriteOptions extends ModelOptionTexts {
  readonly force?: boolean | undefined;
  /** The path of the GLB, or a name for it in errors. */
  readonly source?: string;
}

export interface WrittenModel {
  /** The size of all files together. */
  readonly bytes: number;
  /** Sentences about the model. */
  readonly notes: readonly string[];
  /** Present only for the formats that 3D printers use. */
  readonly printCheck?: PrintCheck | undefined;
}

/**
 * Writes a model in the format of the path's extension, or a GLB to stdout. An OBJ gets its MTL and its texture next to
 * it, and a GLB its further levels of detail.
 *
 * @throws {UsageError} if a file exists and `force` is not set, or if the GLB cannot be converted
 */
export async function writeModel(
  path: string,
  glb: Uint8Array,
  { force = false, source, ...options }: WriteOptions = {},
): Promise<WrittenModel> {
  const { files, notes, printCheck } = await convert(path, glb, source, options);
  // All of them, before the first is written.
  for (const file of files)
    if (!isStdout(file.path)) await requireWritable(file.path, await findTarget(file.path), force);
  for (const file of files) await writeOutput(file.path, file.bytes, force);
  return { bytes: files.reduce((size, { bytes }) => size + bytes.length, 0), notes, printCheck };
}

/** Prints the path of a written model, unless stdout has the model itself, and what there is to say about it. */
export function printModel(path: string, written: Pick<WrittenModel, 'notes'>): void {
  if (!isStdout(path)) print(shownName(path));
  sayNotes(written);
}

export function sayNotes({ notes }: Pick<WrittenModel, 'notes'>): void {
  for (const note of notes) say(note);
}

async function convert(
  path: string,
  glb: Uint8Array,
  source: string | undefined,
  texts: ModelOptionTexts,
): Promise<Omit<WrittenModel, 'bytes'> & { files: { path: string; bytes: Uint8Array }[] }> {
  const format = isStdout(path) ? 'glb' : formatOf(path);
  const options = readModelOptions(texts, format);
  // A model from the server needs no check, and the packages for it take time to load.
  const isChecked = source === undefined;
  if (isChecked && format === 'glb' && Object.keys(options).length === 0)
    return { files: [{ path, bytes: glb }], notes: [] };
  const { ConversionError, convertModel } = await import('@gen3d/convert');
  const { nodeTools } = await import('@gen3d/convert/node');
  const name = basename(path, extname(path));
  const converted = convertModel(glb, format, { ...nodeTools, renderThumbnail, name, ...options });
  const { files, notes, printCheck } = await converted.catch((error: unknown) => {
    if (!(error instanceof ConversionError)) throw error;
    throw new UsageError(`Cannot convert ${shownName(source ?? 'the model')} to ${shownName(path)}. ${error.message}`, {
      cause: error,
    });
  });
  const [main, ...others] = files;
  // The name as given: its extension may be in capitals.
  const beside = others.map((file) => ({ path: join(dirname(path), file.name), bytes: file.bytes }));
  return { files: [{ path, bytes: main!.bytes }, ...beside], notes, printCheck };
}

const thumbnailSide = 256;

/** Loads the engine, which is large, and is therefore called only for 3MF, the one format with a thumbnail. */
async function renderThumbnail({ parts, materials }: ModelContent): Promise<Uint8Array> {
  const [{ renderPartThumbnails }, { default: sharp }] = await Promise.all([import('@gen3d/engine'), import('sharp')]);
  const { webp } = await renderPartThumbnails(parts, materials);
  return sharp(webp).resize(thumbnailSide).png().toBuffer();
}
