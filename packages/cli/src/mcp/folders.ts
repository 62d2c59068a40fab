import { realpath, stat } from 'node:fs/promises';
import systemPath, { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { UsageError } from '../exit/failure.js';
import { findTarget } from '../files/target.js';

/**
 * Limits an assistant to folders in which it may read photos and write models. It may follow instructions from
 * untrusted pages, so symbolic links are resolved before a path is checked.
 */
export class Folders {
  readonly #folders: readonly string[];

  private constructor(folders: readonly string[]) {
    this.#folders = folders;
  }

  /** @throws {UsageError} if a folder does not exist */
  static async open(folders: readonly string[]): Promise<Folders> {
    const real = folders.map((folder) =>
      realpath(folder).catch((cause: unknown) => {
        throw new UsageError(`Cannot open the folder ${folder}`, { cause });
      }),
    );
    return new Folders(await Promise.all(real));
  }

  /** Returns the real path of an existing file. @throws {UsageError} if it is not a file, or is outside the folders */
  async existing(path: string): Promise<string> {
    const real = await realpath(this.#absolute(path)).catch((cause: unknown) => {
      throw new UsageError(`${path} does not exist. Pass the path of a photo, or an http(s) URL`, { cause });
    });
    this.#requireInside(path, real);
    // Opening a named pipe would wait until another process writes to it.
    if (!(await stat(real)).isFile()) throw new UsageError(`${path} is not a file. Pass the path of a photo`);
    return real;
  }

  /** Returns the real path of a file to write. @throws {UsageError} if it is a folder, or is outside the folders */
  async future(path: string): Promise<string> {
    const absolute = this.#absolute(path);
    const folder = await realpath(dirname(absolute)).catch((cause: unknown) => {
      throw new UsageError(`The folder of ${path} does not exist. Create it first`, { cause });
    });
    const target = await findTarget(join(folder, basename(absolute)));
    this.#requireInside(path, target.path);
    if (target.kind === 'folder') throw new UsageError(`${path} is a folder. Pass the path of a file to write`);
    if (target.kind === 'other') throw new UsageError(`${path} is not a file. Pass the path of a file to write`);
    return target.path;
  }

  #absolute(path: string): string {
    // Some assistants name the files of a project by their URLs.
    const absolute = resolve(this.#folders[0] ?? '.', /^file:\/\//i.test(path) ? pathOfUrl(path) : path);
    if (isOnOtherShare(absolute, this.#folders)) throw this.#outside(path);
    return absolute;
  }

  #requireInside(path: string, real: string): void {
    if (!this.#folders.some((folder) => isInside(real, folder))) throw this.#outside(path);
  }

  #outside(path: string): UsageError {
    return new UsageError(
      `${path} is outside ${this.#folders.join(' and ')}. To allow other folders, use \`gen3d mcp --folder\``,
    );
  }
}

/**
 * Converts a file URL to a path.
 *
 * @throws {UsageError} if it does not name a file on this machine, for example because it names another host
 */
function pathOfUrl(url: string): string {
  try {
    return fileURLToPath(url);
  } catch (cause) {
    throw new UsageError(`${url} is not the URL of a file on this machine. Pass a path`, { cause });
  }
}

/**
 * Whether an absolute path is on a network share that holds none of the folders. Windows sends the user's credentials
 * to a share's server as soon as it looks up a path there.
 */
export function isOnOtherShare(path: string, folders: readonly string[], { parse } = systemPath): boolean {
  const rootOf = (some: string) => parse(some).root.toLowerCase();
  const root = rootOf(path);
  return root.startsWith('\\\\') && !folders.some((folder) => rootOf(folder) === root);
}

/** Whether `path` is `folder` or is inside it. Both must be absolute and free of symbolic links. */
export function isInside(path: string, folder: string, { isAbsolute, relative, sep } = systemPath): boolean {
  const inner = relative(folder, path);
  // On Windows, the relative path to another drive is absolute.
  return inner !== '..' && !inner.startsWith(`..${sep}`) && !isAbsolute(inner);
}
