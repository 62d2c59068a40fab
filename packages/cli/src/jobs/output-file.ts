import { basename, dirname, extname, join, resolve, sep } from 'node:path';
import { companionNames, type ModelFormat, type ModelOptionTexts, modelFormats } from '@gen3d/convert/options';
import { makeFolder } from '@gen3d/engine/files';
import { fileNameOf } from '@gen3d/schema/rules';
import { UsageError } from '../exit/failure.js';
import { fileId, findTarget, isStdout, requireWritable, stdoutPath, type Target } from '../files/target.js';
import { shownName } from '../terminal/terminal.js';
import { readModelOptions } from './model-options.js';
import { isDataUri, isFile, isUrl, labelOf } from './photo-input.js';

/** Commands that wait for a job and may write its model have these options. */
export interface ResultOptions extends ModelOptionTexts {
  readonly wait?: boolean;
  /** A file for one model, or a folder. */
  readonly output?: string;
  readonly force?: boolean;
  readonly json?: boolean;
  readonly open?: boolean;
}

/**
 * Returns the format that a path's extension selects. Without an extension, that is GLB.
 *
 * @throws {UsageError} if it is the extension of another format
 */
export function formatOf(path: string): ModelFormat {
  const extension = extname(path).slice(1).toLowerCase();
  const format = modelFormats.find((format) => format === (extension || 'glb'));
  if (format) return format;
  throw unknownFormat(path);
}

export const unknownFormat = (path: string) =>
  new UsageError(`Cannot write ${shownName(path)}. Use the extension ${extensions()}`);

/** Lists the extensions of all formats in words: `.glb, .obj or .stl`. */
export function extensions(): string {
  const all = modelFormats.map((format) => `.${format}`);
  return `${all.slice(0, -1).join(', ')} or ${all.at(-1)}`;
}

const isJpeg = (path: string) => /\.jpe?g$/i.test(path);

/** @throws {UsageError} if the path does not have the extension of a thumbnail */
export function requireJpegName(path: string): void {
  if (!isJpeg(path)) throw new UsageError(`Cannot write ${shownName(path)}. Use the extension .jpg`);
}

/**
 * Returns the default path of a photo's model: next to the photo, or in the current folder for a URL or stdin. For a
 * URL, `download` uses the same path.
 */
export function modelPath(image: string): string {
  if (image === '-' || isDataUri(image)) return 'model.glb';
  if (!isUrl(image)) return join(dirname(image), `${stem(basename(image))}.glb`);
  return fileNameOf({ label: labelOf(image) ?? null, task_id: 'model' }, '.glb');
}

const stem = (name: string) => name.slice(0, name.length - extname(name).length) || 'model';

/** Returns a key that is equal for two paths of the same file. macOS and Windows usually ignore the case of letters. */
export function pathKey(path: string, platform = process.platform): string {
  const absolute = resolve(path);
  return platform === 'darwin' || platform === 'win32' ? absolute.toLowerCase() : absolute;
}

/**
 * Decides the output paths before any job is created, because a model that cannot be written would still be charged.
 *
 * @param names the default paths, one per result
 * @param sources the photos or models that the results are made of, one per result
 * @throws {UsageError} if two results have the same path, a file exists without `force` or is a source, a path is not
 *   writable, or the format is unknown or does not support an option that was given
 */
export async function planOutputs(
  names: readonly string[],
  { output, force = false, json, open, ...options }: Omit<ResultOptions, 'wait'>,
  sources: readonly string[] = [],
): Promise<string[]> {
  if (output !== undefined && isStdout(output)) {
    requireFreeStdout(names.length, json === true || open === true);
    if (readModelOptions(options, 'glb').lod) throw new UsageError('--lod writes several files. Pass a path with -o');
    return [stdoutPath];
  }
  const given = output ? await findTarget(output) : undefined;
  const { paths, folder } = outputPaths(names, output, given);
  const files = paths.flatMap((path, index) => [path, ...companionsOf(path, options)].map((path) => ({ path, index })));
  const sourceIds = new Set(await Promise.all(sources.filter(isFile).map(fileId)));
  const indexes = new Map<string, number>();
  const targets: Target[] = [];
  for (const { path, index } of files) {
    const target = await findTarget(path);
    // Even with `force`, which is meant for older results.
    if (target.kind === 'file' && sourceIds.has(await fileId(target.path))) {
      throw new UsageError(`${shownName(path)} is the input itself. Choose another path`);
    }
    const other = indexes.get(pathKey(target.path));
    if (other !== undefined) {
      const photos = `${nameOf(sources[other])} and ${nameOf(sources[index])}`;
      const problem = `would both be written to ${shownName(path)}`;
      throw new UsageError(`${photos} ${problem}. Use two commands with different -o`);
    }
    indexes.set(pathKey(target.path), index);
    targets.push(target);
  }
  if (folder !== undefined) {
    await makeFolder(folder).catch((cause: unknown) => {
      throw new UsageError(`Cannot create the folder ${folder}. Choose another path with -o`, { cause });
    });
  }
  for (const [at, { path }] of files.entries()) await requireWritable(path, targets[at]!, force);
  return paths;
}

/** Returns the paths of the files that are written next to a model: those of an OBJ, and further levels of detail. */
export function companionsOf(path: string, texts: ModelOptionTexts = {}): string[] {
  if (isJpeg(path)) return [];
  const format = formatOf(path);
  const name = basename(path, extname(path));
  return companionNames(name, format, readModelOptions(texts, format)).map((name) => join(dirname(path), name));
}

const nameOf = (source = '') => (isDataUri(source) ? 'A data URI' : shownName(source));

function requireFreeStdout(results: number, isUsed: boolean): void {
  if (results > 1) throw new UsageError(`-o - writes one model to stdout, not ${results}. Pass a folder with -o`);
  if (isUsed) throw new UsageError('-o - writes the model to stdout, so it cannot be combined with --json or --open');
  if (process.stdout.isTTY) {
    throw new UsageError('-o - writes the model to stdout, which is a terminal. Redirect it, as in -o - > model.glb');
  }
}

interface Outputs {
  readonly paths: string[];
  /** The paths are in this folder, which may not exist yet. */
  readonly folder?: string;
}

function outputPaths(names: readonly string[], output: string | undefined, given: Target | undefined): Outputs {
  if (output === undefined) return { paths: [...names] };
  if (output === '') throw new UsageError('-o is empty. Pass the file to write, and check for an unset variable');
  const shown = shownName(output);
  if (names.length > 1 && given?.kind !== 'folder' && given?.kind !== 'new') {
    throw new UsageError(`${shown} is a file, but there are ${names.length} results. Pass a folder with -o`);
  }
  if (
    names.length > 1 &&
    given?.kind === 'new' &&
    modelFormats.some((format) => output.toLowerCase().endsWith(`.${format}`))
  ) {
    const folder = shown.slice(0, -extname(output).length);
    throw new UsageError(
      `${shown} is the name of one file, but there are ${names.length} results. Pass a folder with -o, such as ${folder}`,
    );
  }
  const wantsFolder = names.length > 1 || output.endsWith('/') || output.endsWith(sep) || given?.kind === 'folder';
  if (wantsFolder) return { paths: names.map((name) => join(output, basename(name))), folder: output };
  if (!isJpeg(names[0] ?? '')) formatOf(output);
  else if (given?.kind !== 'other') requireJpegName(output);
  return { paths: [output] };
}
