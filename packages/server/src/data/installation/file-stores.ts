import { access, constants, readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { writeDurably } from '../../base/durable-file.js';
import type { AssetStore } from '../assets/asset-store.js';
import { FolderAssetStore } from '../assets/folder-store.js';
import type { DatabaseIdentity } from '../db/database.js';
import { FolderInputStore } from '../inputs/folder-store.js';
import type { InputStore } from '../inputs/input-store.js';
import type { DataDir } from './data-dir.js';

/** Folder of the location markers: one file per database that uses the location. */
const markerFolder = '.installations';

/** States which database uses a location. */
export interface LocationMarker {
  name: string;
  /** Path of the file or object, for people. */
  path: string;
  owner: DatabaseIdentity;
}

/**
 * The stores of assets and inputs: both in folders (below), or both in a bucket (cluster/s3). Every process of a database
 * uses the same ones. asset-store.ts and input-store.ts say what each store guarantees, and their tests run on both kinds.
 *
 * While a store is away, its methods throw `StorageUnavailableError`, or the file system's error. Neither the job nor the
 * client is then at fault: the server responds with 503, and a runner hands its job back.
 */
export interface FileStores {
  assets: AssetStore;
  inputs: InputStore;
  /**
   * Checks that the stores can be used. Resolves with the URL below which they serve the assets themselves, or undefined if
   * the server does that.
   * @throws {ConfigError} that names the bucket, its endpoint and what is missing
   */
  check(): Promise<string | undefined>;
  /** For messages. */
  location: string;
  /** True if the location has the marker. */
  hasMarker(name: string): Promise<boolean>;
  setMarker(name: string, owner: DatabaseIdentity): Promise<void>;
  markers(): Promise<LocationMarker[]>;
  /** Resolves if the asset store responds, and rejects otherwise. Cheap, unlike `check`. */
  ping(): Promise<void>;
}

/** Opens stores in folders. */
export function openFolders(dirs: Pick<DataDir, 'assets' | 'inputs'>): FileStores {
  // The marker for inputs is in the data directory, because every file in `inputs` is an image.
  const markerFolders = [dirs.assets, dirname(dirs.inputs)].map((folder) => join(folder, markerFolder));
  return {
    assets: new FolderAssetStore(dirs.assets),
    inputs: new FolderInputStore(dirs.inputs),
    check: async () => undefined,
    location: `${dirs.assets} and ${dirs.inputs}`,
    async hasMarker(name) {
      const found = await Promise.all(markerFolders.map((folder) => isFile(join(folder, name))));
      return found.every(Boolean);
    },
    async setMarker(name, owner) {
      for (const folder of markerFolders) await writeDurably(join(folder, name), Buffer.from(JSON.stringify(owner)));
    },
    async markers() {
      const found: LocationMarker[] = [];
      for (const folder of markerFolders) {
        for (const name of await visibleNames(folder)) {
          const path = join(folder, name);
          found.push({ name, path, owner: ownerIn(await readFile(path)) });
        }
      }
      return found;
    },
    ping: () => access(dirs.assets, constants.W_OK),
  };
}

/** Excludes drafts, whose names start with a dot. */
async function visibleNames(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).filter((name) => !name.startsWith('.'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

const Owner = z.object({ id: z.string(), name: z.string() });

export const ownerIn = (content: Uint8Array): DatabaseIdentity =>
  Owner.parse(JSON.parse(Buffer.from(content).toString()));

const isFile = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      throw error;
    },
  );
