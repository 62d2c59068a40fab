import { realpath } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { UsageError } from '../exit/failure.js';

/**
 * The folders that an assistant may read photos from and write models into. What it is told to do may come from a page
 * it has read, so links are followed before a place is judged.
 */
export class Folders {
  readonly #folders: readonly string[];

  private constructor(folders: readonly string[]) {
    this.#folders = folders;
  }

  /** @throws {UsageError} if one is not there */
  static async open(folders: readonly string[]): Promise<Folders> {
    const real = folders.map((folder) =>
      realpath(folder).catch((cause: unknown) => {
        throw new UsageError(`The folder ${folder} cannot be opened`, { cause });
      }),
    );
    return new Folders(await Promise.all(real));
  }

  /** The real path of a file that is there. @throws {UsageError} if it is not, or lies outside */
  async existing(path: string): Promise<string> {
    const real = await realpath(this.#absolute(path)).catch((cause: unknown) => {
      throw new UsageError(`${path} does not exist: give the path of a photo, or an http(s) URL`, { cause });
    });
    this.#refuseOutside(path, real);
    return real;
  }

  /** The real path of a file to be written. @throws {UsageError} if its folder is not there, or lies outside */
  async future(path: string): Promise<string> {
    const absolute = this.#absolute(path);
    const folder = await realpath(dirname(absolute)).catch((cause: unknown) => {
      throw new UsageError(`The folder of ${path} does not exist: make it first`, { cause });
    });
    const real = join(folder, basename(absolute));
    this.#refuseOutside(path, real);
    return real;
  }

  #absolute(path: string): string {
    return resolve(this.#folders[0] ?? '.', path);
  }

  #refuseOutside(path: string, real: string): void {
    if (this.#folders.some((folder) => isInside(real, folder))) return;
    throw new UsageError(
      `${path} lies outside ${this.#folders.join(' and ')}: \`gen3d mcp --folder\` says which folders may be used`,
    );
  }
}

function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && resolve(folder, way) === path;
}
