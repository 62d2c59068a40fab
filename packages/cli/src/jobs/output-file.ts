import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { link, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, extname, join, resolve, sep } from 'node:path';
import { type ModelFormat, type ModelOptionTexts, modelFormats } from '@gen3d/convert/options';
import { makeFolder } from '@gen3d/engine/files';
import { fileNameOf } from '@gen3d/schema/rules';
import { UsageError } from '../exit/failure.js';
import { readModelOptions } from './model-options.js';
import { isDataUri, isUrl, labelOf } from './photo-input.js';

/** Commands that wait for a job and may write its model have these options. */
export interface ResultOptions extends ModelOptionTexts {
  readonly wait?: boolean;
  /** A file for one model, or a folder. */
  readonly output?: string;
  readonly force?: boolean;
  readonly json?: boolean;
  readonly open?: boolean;
}

/** As an output path, this stands for stdout. */
export const stdoutPath = '-';

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
  new UsageError(`Cannot write ${path}. Use the extension ${extensions()}`);

/** Lists the extensions of all formats in words: `.glb, .obj or .stl`. */
export function extensions(): string {
  const all = modelFormats.map((format) => `.${format}`);
  return `${all.slice(0, -1).join(', ')} or ${all.at(-1)}`;
}

const isJpeg = (path: string) => /\.jpe?g$/i.test(path);

/** @throws {UsageError} if the path does not have the extension of a thumbnail */
export function requireJpegName(path: string): void {
  if (!isJpeg(path)) throw new UsageError(`Cannot write ${path}. Use the extension .jpg`);
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
 * @throws {UsageError} if two results have the same path, a file exists without `force` or is a source, a folder is
 * missing
 *   or not writable, or the format is unknown or does not support an option that was given
 */
export async function planOutputs(
  names: readonly string[],
  { output, force, json, open, ...options }: Omit<ResultOptions, 'wait'>,
  sources: readonly string[] = [],
): Promise<string[]> {
  if (output === stdoutPath) {
    requireFreeStdout(names.length, json === true || open === true);
    if (readModelOptions(options, 'glb').lod) throw new UsageError('--lod writes several files. Pass a path with -o');
    return [stdoutPath];
  }
  const { paths, folder } = await outputPaths(names, output);
  for (const path of paths) if (!isJpeg(path)) readModelOptions(options, formatOf(path));
  const sourceIds = new Set(await Promise.all(sources.filter(isFile).map(fileId)));
  sourceIds.delete(undefined);
  const indexes = new Map<string, number>();
  for (const [index, path] of paths.entries()) {
    const other = indexes.get(pathKey(path));
    if (other !== undefined) {
      throw new UsageError(
        `${nameOf(sources[other])} and ${nameOf(sources[index])} would both be written to ${path}. Use two commands with different -o`,
      );
    }
    indexes.set(pathKey(path), index);
    // Even with `force`, which is meant for older results.
    if (sourceIds.has(await fileId(path))) throw inputItself(path);
    const existing = await stat(path).catch(() => undefined);
    if (existing?.isDirectory()) throw new UsageError(`${path} is a folder. Choose another path`);
    if (existing && !force) throw existsError(path);
  }
  // Created after the checks above, so that a failed check leaves no empty folder.
  const created = folder === undefined ? [] : await createFolder(folder);
  try {
    for (const parent of new Set(paths.map((path) => dirname(path)))) await requireWritable(parent);
  } catch (error) {
    await removeEmpty(created);
    throw error;
  }
  return paths;
}

/** Returns an id that two names of a file share, such as a link and its target. Undefined without such a file. */
export async function fileId(path: string): Promise<string | undefined> {
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  return found && `${found.dev} ${found.ino}`;
}

export const inputItself = (path: string) => new UsageError(`${path} is the input itself. Choose another path`);

const nameOf = (source = '') => (isDataUri(source) ? 'A data URI' : source);

const isFile = (source: string) => source !== '-' && !isUrl(source) && !isDataUri(source);

function requireFreeStdout(results: number, isUsed: boolean): void {
  if (results > 1) throw new UsageError(`-o - writes one model to stdout, not ${results}. Pass a folder with -o`);
  if (isUsed) throw new UsageError('-o - writes the model to stdout, so it cannot be combined with --json or --open');
  if (process.stdout.isTTY) {
    throw new UsageError('-o - writes the model to stdout, which is a terminal. Redirect it, as in -o - > model.glb');
  }
}

/** Writes a test file. Permission bits are not sufficient: they do not apply to root, or cover read-only and full disks. */
async function requireWritable(folder: string): Promise<void> {
  const draft = join(folder, `.${randomBytes(8).toString('hex')}.part`);
  try {
    await writeFile(draft, '', { flag: 'wx' });
  } catch (cause) {
    const existing = await stat(folder).catch(() => undefined);
    if (!existing) {
      throw new UsageError(`The folder ${folder} does not exist. Create it first, or choose another path`, { cause });
    }
    const reason = existing.isDirectory() ? '' : ', because it is a file';
    throw new UsageError(`Cannot write to ${folder}${reason}. Choose another path`, { cause });
  } finally {
    await rm(draft, { force: true }).catch(() => {});
  }
}

interface Outputs {
  readonly paths: string[];
  /** The paths are in this folder, which may not exist yet. */
  readonly folder?: string;
}

async function outputPaths(names: readonly string[], output: string | undefined): Promise<Outputs> {
  if (output === undefined) return { paths: [...names] };
  if (output === '') throw new UsageError('-o is empty. Pass the file to write, and check for an unset variable');
  const isFolder = (await stat(output).catch(() => undefined))?.isDirectory();
  if (names.length > 1 && isFolder === false) {
    throw new UsageError(`${output} is a file, but there are ${names.length} results. Pass a folder with -o`);
  }
  if (
    names.length > 1 &&
    isFolder === undefined &&
    modelFormats.some((format) => output.toLowerCase().endsWith(`.${format}`))
  ) {
    const folder = output.slice(0, -extname(output).length);
    throw new UsageError(
      `${output} is the name of one file, but there are ${names.length} results. Pass a folder with -o, such as ${folder}`,
    );
  }
  const wantsFolder = names.length > 1 || output.endsWith('/') || output.endsWith(sep) || isFolder === true;
  if (!wantsFolder) {
    if (isJpeg(names[0] ?? '')) requireJpegName(output);
    else formatOf(output);
    return { paths: [output] };
  }
  return { paths: names.map((name) => join(output, basename(name))), folder: output };
}

/** Creates a folder and its missing parents. @returns the created folders, the deepest first */
async function createFolder(folder: string): Promise<string[]> {
  const missing: string[] = [];
  for (let path = resolve(folder); !existsSync(path); path = dirname(path)) missing.push(path);
  try {
    await makeFolder(folder);
  } catch (cause) {
    await removeEmpty(missing);
    throw new UsageError(`Cannot create the folder ${folder}. Choose another path with -o`, { cause });
  }
  return missing;
}

async function removeEmpty(folders: readonly string[]): Promise<void> {
  // Ignores folders that do not exist or are not empty.
  for (const folder of folders) await rmdir(folder).catch(() => {});
}

/** Writes to stdout, or a file atomically. Replaces an existing one only with `force`. */
export async function writeOutput(path: string, content: Uint8Array, force = false): Promise<void> {
  if (path === stdoutPath) return new Promise((resolve) => process.stdout.write(content, () => resolve()));
  const draft = join(dirname(path), `.${basename(path)}.${randomBytes(4).toString('hex')}.part`);
  try {
    await writeFile(draft, content, { flag: 'wx' });
    if (force) await replace(draft, path);
    else await linkNew(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
}

async function replace(draft: string, path: string): Promise<void> {
  try {
    await rename(draft, path);
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
    if (code !== 'EPERM' && code !== 'EBUSY') throw cause;
    // Windows refuses to replace a file that a viewer has open.
    throw new UsageError(
      `Cannot replace ${path}. Close the programs that have it open, or write to another path with -o`,
      { cause },
    );
  }
}

/** Moves a draft to its path. Unlike a rename, a link fails if the file was created in the meantime. */
async function linkNew(draft: string, path: string): Promise<void> {
  try {
    await link(draft, path);
  } catch (error) {
    if (isExistsError(error)) throw existsError(path);
    // FAT and some network file systems do not support links. Reserves the name instead.
    await writeFile(path, '', { flag: 'wx' }).catch((failure: unknown) => {
      throw isExistsError(failure) ? existsError(path) : failure;
    });
    await rename(draft, path);
  }
}

const isExistsError = (error: unknown) => error instanceof Error && 'code' in error && error.code === 'EEXIST';

export const existsError = (path: string) =>
  new UsageError(`${path} already exists. Overwrite it with --force, or choose another path`);
