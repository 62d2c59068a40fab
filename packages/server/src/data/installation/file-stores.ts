import { access, constants } from 'node:fs/promises';
import type { Config } from '../../config.js';
import type { AssetStore } from '../assets/asset-store.js';
import { FolderAssetStore } from '../assets/folder-store.js';
import { FolderInputStore } from '../inputs/folder-store.js';
import type { InputStore } from '../inputs/input-store.js';
import type { DataDir } from './data-dir.js';

export type FileStoreConfig = Pick<Config, 's3Endpoint' | 's3ForcePathStyle'>;

/**
 * Combines the stores of assets and inputs, which are both in folders (below), or both in a bucket (cluster/s3). Every
 * process of a database uses the same ones. asset-store.ts and input-store.ts say what each store guarantees, and their
 * tests run on both kinds.
 *
 * While a store is unavailable, its methods throw `StorageUnavailableError`, or the file system's error. Neither the
 * job nor the client is then at fault: the server responds with 503, and a runner releases its job.
 */
export interface FileStores {
  assets: AssetStore;
  inputs: InputStore;
  /**
   * Checks that the stores can be used. Resolves with the URL below which they serve the assets themselves, or
   * undefined if the server does that.
   * @throws {ConfigError} that names the bucket, its endpoint and what is missing
   */
  check(): Promise<string | undefined>;
  /** Names the stores in log lines and errors. */
  location: string;
  /** Resolves if the asset store responds, and rejects otherwise. Cheap, unlike `check`. */
  ping(): Promise<void>;
}

export const openFolders = (dirs: Pick<DataDir, 'assets' | 'inputs'>): FileStores => ({
  assets: new FolderAssetStore(dirs.assets),
  inputs: new FolderInputStore(dirs.inputs),
  check: async () => undefined,
  location: `${dirs.assets} and ${dirs.inputs}`,
  ping: () => access(dirs.assets, constants.W_OK),
});
