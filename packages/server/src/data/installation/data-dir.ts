import { mkdirSync, realpathSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, sep } from 'node:path';
import { ConfigError } from '../../base/errors.js';
import { isS3Url } from '../../base/s3-url.js';
import type { Config } from '../../config.js';

/** Where things lie in the data directory. */
export interface DataDir {
  /** Path of the SQLite file, or URL of the PostgreSQL database that is used instead. */
  database: string;
  /** Unless the assets are in a bucket: then the inputs are too. */
  inputs: string;
  /** Folder, or s3:// URL of what is used instead. */
  assets: string;
  models: string;
  /** Path of the server key's file; see server-key.ts. */
  serverKey: string;
}

type DataDirConfig = Pick<Config, 'dataDir' | 'assets'> & Partial<Pick<Config, 'database'>>;

/** The places alone, whether anything is there or not. */
export function dataDirOf({ dataDir, database = 'sqlite', assets }: DataDirConfig): DataDir {
  return {
    database: database === 'sqlite' ? join(dataDir, 'gen3d.sqlite') : database,
    inputs: join(dataDir, 'inputs'),
    assets: assets ?? join(dataDir, 'assets'),
    models: join(dataDir, 'models'),
    serverKey: join(dataDir, 'server.key'),
  };
}

/**
 * Makes the data directory on first use. Safe when several processes start at once.
 * @throws {ConfigError} if it cannot be a folder, or the folder of the assets would publish what is in it
 */
export function openDataDir(config: DataDirConfig): DataDir {
  // Owner only: it holds customers' photos, and the database holds what the server key can decrypt.
  makeFolder(config.dataDir, '--data-dir', 0o700);
  const paths = dataDirOf(config);
  // The data directory may have been there before, open to everybody.
  makeFolder(paths.inputs, '--data-dir', 0o700);
  if (isS3Url(paths.assets)) return paths;
  requireSeparateAssets(config.dataDir, paths.assets);
  makeFolder(paths.assets, config.assets === undefined ? '--data-dir' : '--assets');
  return paths;
}

/** The path without symbolic links, as far as it exists. */
function realPath(path: string): string {
  try {
    return realpathSync.native(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(path) === path) throw error;
    return join(realPath(dirname(path)), basename(path));
  }
}

function isWithin(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/** Anyone can read the assets; the server key, the database and the images beside them are private. */
function requireSeparateAssets(dataDir: string, assets: string): void {
  const data = realPath(dataDir);
  const folder = realPath(assets);
  const isSeparate = !isWithin(folder, data) && !isWithin(data, folder);
  if (isSeparate || isWithin(folder, join(data, 'assets'))) return;
  throw new ConfigError(
    `--assets (${assets}) must not contain the data directory (${dataDir}), or be in it except as its folder assets: everything in --assets is public. Omit --assets, or name a folder elsewhere`,
  );
}

function makeFolder(path: string, flag: string, mode?: number): void {
  try {
    mkdirSync(path, { recursive: true, mode });
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const why =
      code === 'EEXIST' || code === 'ENOTDIR'
        ? `${path} cannot be a folder, because a file is in its place`
        : `The folder ${path} cannot be made (${message})`;
    throw new ConfigError(`${why}: choose another one with ${flag}`, { cause });
  }
}
