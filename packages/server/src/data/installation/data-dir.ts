import { readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, sep } from 'node:path';
import { makeFolder } from '@gen3d/engine/files';
import { ConfigError } from '../../base/errors.js';
import { isS3Url } from '../../base/s3-url.js';
import type { Config } from '../../config.js';

export interface DataDir {
  /** Path of the SQLite file, or URL of the PostgreSQL database. */
  database: string;
  /** Unused if the assets are in a bucket, which then also contains the inputs. */
  inputs: string;
  /** Folder or s3:// URL. */
  assets: string;
  models: string;
  /** Path of the server key's file; see server-key.ts. */
  serverKey: string;
  /** Path of a file with the public URL of the server that was last started here. */
  serverUrl: string;
}

type DataDirConfig = Pick<Config, 'dataDir' | 'assets'> & Partial<Pick<Config, 'database'>>;

/** Returns the paths without accessing them. */
export function dataDirOf({ dataDir, database = 'sqlite', assets }: DataDirConfig): DataDir {
  return {
    database: database === 'sqlite' ? join(dataDir, 'gen3d.sqlite') : database,
    inputs: join(dataDir, 'inputs'),
    assets: assets ?? join(dataDir, 'assets'),
    models: join(dataDir, 'models'),
    serverKey: join(dataDir, 'server.key'),
    serverUrl: join(dataDir, 'server.url'),
  };
}

/**
 * Creates the data directory on first use. Safe when several processes start at the same time.
 * @throws {ConfigError} if it cannot be a folder, or the assets folder would publish its content
 */
export async function openDataDir(config: DataDirConfig): Promise<DataDir> {
  // Accessible only to its owner: it contains users' images, the server key and what that can decrypt.
  await makeFolderFor('--data-dir', config.dataDir, 0o700);
  const paths = dataDirOf(config);
  // The data directory may have existed before with wider permissions.
  await makeFolderFor('--data-dir', paths.inputs, 0o700);
  if (isS3Url(paths.assets)) return paths;
  requireSeparateAssets(config.dataDir, paths.assets);
  await makeFolderFor(config.assets === undefined ? '--data-dir' : '--assets', paths.assets);
  return paths;
}

/** Resolves the symbolic links of a path, as far as it exists. */
function realPath(path: string): string {
  try {
    return realpathSync.native(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(path) === path) throw error;
    return join(realPath(dirname(path)), basename(path));
  }
}

function isWithin(path: string, folder: string): boolean {
  const relativePath = relative(folder, path);
  return relativePath !== '..' && !relativePath.startsWith(`..${sep}`) && !isAbsolute(relativePath);
}

/** Refuses assets in a private folder: assets are public, but the server key, the database and the images are not. */
function requireSeparateAssets(dataDir: string, assets: string): void {
  const data = realPath(dataDir);
  const folder = realPath(assets);
  const isSeparate = !isWithin(folder, data) && !isWithin(data, folder);
  if (isSeparate || isWithin(folder, join(data, 'assets'))) return;
  throw new ConfigError(
    `--assets (${assets}) must not contain the data directory (${dataDir}), or be in it except as its folder "assets", because everything in --assets is public. Omit --assets, or choose a folder elsewhere`,
  );
}

async function makeFolderFor(flag: string, path: string, mode?: number): Promise<void> {
  await makeFolder(path, mode).catch((cause: NodeJS.ErrnoException) => {
    const why =
      cause.code === 'EEXIST' || cause.code === 'ENOTDIR'
        ? `${path} cannot be a folder, because there is a file or a broken link in its place or above it`
        : `The folder ${path} cannot be created (${cause.message})`;
    throw new ConfigError(`${why}. Choose another one with ${flag}`, { cause });
  });
}

/** Stores the URL of the running server for commands on this machine, which know only the data directory. */
export function storeServerUrl({ serverUrl }: DataDir, url: string): void {
  writeFileSync(serverUrl, `${url}\n`, { mode: 0o600 });
}

/** Returns the URL of the server that was last started with the data directory. Undefined if there was none. */
export function serverUrlIn(config: DataDirConfig): string | undefined {
  try {
    return readFileSync(dataDirOf(config).serverUrl, 'utf8').trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
