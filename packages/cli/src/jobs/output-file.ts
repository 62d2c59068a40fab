import { randomBytes } from 'node:crypto';
import { link, mkdir, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, extname, join, resolve, sep } from 'node:path';
import { UsageError } from '../exit/failure.js';

export interface OutputOptions {
  /** `-o`: a file for one photo; a folder for several, or where it is one already. */
  readonly output?: string;
  readonly force?: boolean;
}

export const isUrl = (image: string): boolean => /^https?:\/\//i.test(image);

/** Where a photo's model goes: beside a file; into the current folder for a URL and for stdin. */
export function modelPath(image: string): string {
  if (image === '-' || /^data:/i.test(image)) return 'model.glb';
  if (!isUrl(image)) return join(dirname(image), `${stem(basename(image))}.glb`);
  const last = new URL(image).pathname.split('/').at(-1) ?? '';
  return `${stem(plain(last))}.glb`;
}

const stem = (name: string) => name.slice(0, name.length - extname(name).length) || 'model';

/** A name from a URL made by strangers: no separators, no leading dot, nothing a shell would trip over. */
const plain = (name: string) =>
  name
    .replace(/%[0-9a-f]{2}/gi, '-')
    .replace(/[^\w.-]+/g, '-')
    .replace(/^[.-]+/, '');

/**
 * Decides where each result goes, before any job is made: a model that cannot be written should not be paid for.
 *
 * @throws {UsageError} if two results have one name, a file exists and `force` is not given, or a folder can't be written
 */
export async function planOutputs(names: readonly string[], { output, force }: OutputOptions): Promise<string[]> {
  const { paths, folder: newFolder } = await place(names, output);
  const seen = new Map<string, number>();
  for (const [index, path] of paths.entries()) {
    const other = seen.get(resolve(path));
    if (other !== undefined) {
      throw new UsageError(`${names[other]} and ${names[index]} would both be ${path}. Give them in two calls with -o`);
    }
    seen.set(resolve(path), index);
    if (!force && (await exists(path))) throw alreadyThere(path);
  }
  // Only now: what is refused above leaves no empty folder behind.
  const made = newFolder === undefined ? [] : await makeFolder(newFolder);
  try {
    for (const folder of new Set(paths.map((path) => dirname(path)))) await tryOut(folder);
  } catch (error) {
    await removeEmpty(made);
    throw error;
  }
  return paths;
}

/**
 * Permissions alone do not tell: root may do everything, and /proc and full or read-only disks refuse all the same.
 */
async function tryOut(folder: string): Promise<void> {
  const draft = join(folder, `.${randomBytes(8).toString('hex')}.part`);
  try {
    await writeFile(draft, '', { flag: 'wx' });
  } catch (cause) {
    const isFile = (await stat(folder).catch(() => undefined))?.isDirectory() === false;
    const why = isFile ? ', because it is a file' : '';
    throw new UsageError(`Nothing can be written into ${folder}${why}: choose another place with -o`, { cause });
  } finally {
    await rm(draft, { force: true }).catch(() => {});
  }
}

interface Place {
  readonly paths: string[];
  /** To be made, unless it is there. */
  readonly folder?: string;
}

async function place(names: readonly string[], output: string | undefined): Promise<Place> {
  if (output === undefined) return { paths: [...names] };
  if (output === '') throw new UsageError('-o is empty: give it the file to write. Was a variable not set?');
  const found = await stat(output).catch(() => undefined);
  if (names.length > 1 && found && !found.isDirectory()) {
    throw new UsageError(`${output} is a file, and ${names.length} results do not fit into it. Give a folder with -o`);
  }
  if (names.length > 1 && !found && /\.glb$/i.test(output)) {
    throw new UsageError(
      `${output} is the name of one file, and ${names.length} results do not fit into it. Give a folder with -o, such as ${output.slice(0, -extname(output).length)}`,
    );
  }
  const wantsFolder = names.length > 1 || output.endsWith('/') || output.endsWith(sep) || found?.isDirectory() === true;
  if (!wantsFolder) return { paths: [output] };
  return { paths: names.map((name) => join(output, basename(name))), folder: output };
}

/** Makes a folder with those above it. @returns the ones that were not there, the deepest first */
async function makeFolder(folder: string): Promise<string[]> {
  const missing: string[] = [];
  for (let path = resolve(folder); !(await exists(path)); path = dirname(path)) missing.push(path);
  try {
    if (missing.length > 0) await mkdir(folder, { recursive: true });
  } catch (cause) {
    await removeEmpty(missing);
    throw new UsageError(`The folder ${folder} cannot be made: choose another place with -o`, { cause });
  }
  return missing;
}

async function removeEmpty(folders: readonly string[]): Promise<void> {
  // One that is not there, or that somebody has put something into meanwhile, is none of ours.
  for (const folder of folders) await rmdir(folder).catch(() => {});
}

/** Writes a whole file or none, and over an existing one only with `force`. */
export async function writeOutput(path: string, content: Uint8Array, force = false): Promise<void> {
  const draft = join(dirname(path), `.${basename(path)}.${randomBytes(4).toString('hex')}.part`);
  try {
    await writeFile(draft, content, { flag: 'wx' });
    if (force) await rename(draft, path);
    else await appear(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
}

/** A link, unlike a rename, fails where somebody made the file in the meantime. */
async function appear(draft: string, path: string): Promise<void> {
  try {
    await link(draft, path);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'EEXIST') throw alreadyThere(path);
    // FAT and some network disks have no links: reserve the name before it is taken.
    await writeFile(path, '', { flag: 'wx' }).catch((failure: NodeJS.ErrnoException) => {
      throw failure.code === 'EEXIST' ? alreadyThere(path) : failure;
    });
    await rename(draft, path);
  }
}

const exists = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  );

const alreadyThere = (path: string) =>
  new UsageError(`${path} exists already. Overwrite it with --force, or write elsewhere with -o`);
