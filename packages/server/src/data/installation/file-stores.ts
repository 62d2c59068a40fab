import { access, constants, readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { writeDurably } from '../../base/durable-file.js';
import { ConfigError } from '../../base/errors.js';
import { randomToken } from '../../base/ids.js';
import { parseS3Url } from '../../base/s3-url.js';
import type { Config } from '../../config.js';
import type { AssetStore } from '../assets/asset-store.js';
import { FolderAssetStore } from '../assets/folder-store.js';
import { assetsPrefix, S3AssetStore } from '../assets/s3-store.js';
import type { DatabaseIdentity } from '../db/identity.js';
import { FolderInputStore } from '../inputs/folder-store.js';
import type { InputStore } from '../inputs/input-store.js';
import { inputsPrefix, S3InputStore } from '../inputs/s3-store.js';
import type { Bucket } from '../s3/bucket.js';
import { isStorageUnavailable } from '../s3/errors.js';
import type { DataDir } from './data-dir.js';

/** For each of the five requests of a check. */
const checkTimeoutMs = 15_000;
const markerTimeoutMs = 15_000;
const pingTimeoutMs = 5_000;
/** Folder and prefix of the location markers: one file or object per database that uses the location. */
const markerFolder = '.installations';
const markerPrefix = 'installations/';

/** States which database uses a location. */
export interface LocationMarker {
  name: string;
  /** Path of the file or object, for people. */
  path: string;
  owner: DatabaseIdentity;
}

/** The stores of assets and inputs: both in folders, or both in a bucket. */
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

/** Opens the stores without a request to them. */
export async function openFileStores(
  dirs: Pick<DataDir, 'assets' | 'inputs'>,
  { s3Endpoint: endpoint, s3ForcePathStyle }: Pick<Config, 's3Endpoint' | 's3ForcePathStyle'>,
): Promise<FileStores> {
  const location = parseS3Url(dirs.assets);
  if (!location) {
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
  // Loaded only here: the SDK of AWS takes 0.15 s to load, in each process.
  const { Bucket } = await import('../s3/bucket.js');
  // Amazon expects the bucket in the host name; other servers rarely have a host name per bucket.
  const bucket = new Bucket({ ...location, endpoint, forcePathStyle: s3ForcePathStyle ?? endpoint !== undefined });
  return {
    assets: new S3AssetStore(bucket),
    inputs: new S3InputStore(bucket),
    check: () => checkBucket(bucket),
    location: `${dirs.assets} at ${endpoint ?? 'Amazon S3'}`,
    // By a listing: without permission to list the bucket, Amazon returns 403 when reading a missing object.
    hasMarker: (name) => bucket.has(markerPrefix + name, markerTimeoutMs),
    setMarker: (name, owner) =>
      bucket.put(
        markerPrefix + name,
        Buffer.from(JSON.stringify(owner)),
        { type: 'application/json' },
        markerTimeoutMs,
      ),
    async markers() {
      const found: LocationMarker[] = [];
      for await (const { key } of bucket.list(markerPrefix, markerTimeoutMs)) {
        const path = `${dirs.assets.replace(/\/$/, '')}/${key}`;
        const content = await bucket.get(key, markerTimeoutMs);
        if (content) found.push({ name: key.slice(markerPrefix.length), path, owner: ownerIn(content) });
      }
      return found;
    },
    ping: async () => void (await bucket.address(pingTimeoutMs)),
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

const ownerIn = (content: Uint8Array): DatabaseIdentity => Owner.parse(JSON.parse(Buffer.from(content).toString()));

const isFile = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      throw error;
    },
  );

/** Tries all operations that jobs need, so that missing permissions are reported at the start. */
async function checkBucket(bucket: Bucket): Promise<string> {
  // If left behind, the sweep removes it as an image that no job needs.
  const key = `${inputsPrefix}check.${randomToken(22)}`;
  try {
    const address = await bucket.address(checkTimeoutMs);
    await bucket.put(key, Buffer.from('gen3d'), { type: 'text/plain' }, checkTimeoutMs);
    const read = await bucket.get(key, checkTimeoutMs);
    await bucket.remove(key, checkTimeoutMs);
    if (!read || Buffer.from(read).toString() !== 'gen3d') {
      throw new ConfigError(`Cannot use ${bucket.description}: it returns other content than was stored`);
    }
    return `${address}/${assetsPrefix.slice(0, -1)}`;
  } catch (error) {
    if (isStorageUnavailable(error)) throw new ConfigError(error.message, { cause: error });
    throw error;
  }
}
