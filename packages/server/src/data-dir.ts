import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, ConfigError } from './config.js';
import { isS3Url } from './s3/location.js';

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
 * @throws {ConfigError} if it cannot be a folder
 */
export function openDataDir(config: DataDirConfig): DataDir {
  // Owner only: it holds customers' photos, and the database holds what the server key can decrypt.
  makeFolder(config.dataDir, '--data-dir', 0o700);
  const paths = dataDirOf(config);
  // The data directory may have been there before, open to everybody.
  makeFolder(paths.inputs, '--data-dir', 0o700);
  if (!isS3Url(paths.assets)) makeFolder(paths.assets, config.assets === undefined ? '--data-dir' : '--assets');
  return paths;
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
