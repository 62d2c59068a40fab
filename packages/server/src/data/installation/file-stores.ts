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
import { isStorageUnavailable } from '../s3/unavailable.js';
import type { DataDir } from './data-dir.js';

/** For each of the five requests that a check makes. */
const checkMs = 15_000;
const markMs = 15_000;
/** One file or object for each database that uses this location, named after the marker that the database knows. */
const markFolder = '.installations';
const markPrefix = 'installations/';
/** Who asks whether a store is there gives up before. */
const isThereMs = 5_000;

/** Says which database uses a location. */
export interface InstallationMarker {
  name: string;
  /** Of the file or object, for people. */
  path: string;
  /** Undefined in a marker of gen3d 0.1. */
  owner: DatabaseIdentity | undefined;
}

/** Where models and photos lie: both in folders, or both in a bucket. */
export interface FileStores {
  assets: AssetStore;
  inputs: InputStore;
  /**
   * Makes sure that the stores can be used. Resolves with the address below which they give out the assets themselves, or
   * undefined when that is left to the server.
   * @throws {ConfigError} that names the bucket, its endpoint and what is missing
   */
  check(): Promise<string | undefined>;
  /** For people. */
  location: string;
  /** Whether this is the location that was given the marker. */
  hasMarker(name: string): Promise<boolean>;
  setMarker(name: string, owner: DatabaseIdentity): Promise<void>;
  markers(): Promise<InstallationMarker[]>;
  /** Resolves when the asset store answers at the moment, and rejects otherwise. Cheap, unlike `check`. */
  isThere(): Promise<void>;
}

/** Reaches nothing before it is used. */
export async function openFileStores(
  dirs: Pick<DataDir, 'assets' | 'inputs'>,
  { s3Endpoint: endpoint, s3ForcePathStyle }: Pick<Config, 's3Endpoint' | 's3ForcePathStyle'>,
): Promise<FileStores> {
  const location = parseS3Url(dirs.assets);
  if (!location) {
    // Of the photos, the data directory bears it: everything below `inputs` is a photo.
    const marked = [dirs.assets, dirname(dirs.inputs)].map((folder) => join(folder, markFolder));
    return {
      assets: new FolderAssetStore(dirs.assets),
      inputs: new FolderInputStore(dirs.inputs),
      check: async () => undefined,
      location: `${dirs.assets} and ${dirs.inputs}`,
      async hasMarker(name) {
        const found = await Promise.all(marked.map((folder) => isFile(join(folder, name))));
        return found.every(Boolean);
      },
      async setMarker(name, owner) {
        for (const folder of marked) await writeDurably(join(folder, name), Buffer.from(JSON.stringify(owner)));
      },
      async markers() {
        const found: InstallationMarker[] = [];
        for (const folder of marked) {
          for (const name of await visibleNames(folder)) {
            const path = join(folder, name);
            found.push({ name, path, owner: ownerIn(await readFile(path)) });
          }
        }
        return found;
      },
      isThere: () => access(dirs.assets, constants.W_OK),
    };
  }
  // Loaded only here: the SDK of AWS takes 0.15 s to load, in each process.
  const { Bucket } = await import('../s3/bucket.js');
  // Amazon wants the bucket in the host's name; a server of one's own seldom has a name for each bucket.
  const bucket = new Bucket({ ...location, endpoint, forcePathStyle: s3ForcePathStyle ?? endpoint !== undefined });
  return {
    assets: new S3AssetStore(bucket),
    inputs: new S3InputStore(bucket),
    check: () => checkBucket(bucket),
    location: `${dirs.assets} at ${endpoint ?? 'Amazon S3'}`,
    // Listed and not read: without leave to list the whole bucket, Amazon answers 403 for what is not there.
    hasMarker: (name) => bucket.has(markPrefix + name, markMs),
    setMarker: (name, owner) =>
      bucket.put(markPrefix + name, Buffer.from(JSON.stringify(owner)), { type: 'application/json' }, markMs),
    async markers() {
      const found: InstallationMarker[] = [];
      for await (const { key } of bucket.list(markPrefix, markMs)) {
        const path = `${dirs.assets.replace(/\/$/, '')}/${key}`;
        const content = await bucket.get(key, markMs);
        if (content) found.push({ name: key.slice(markPrefix.length), path, owner: ownerIn(content) });
      }
      return found;
    },
    isThere: async () => void (await bucket.address(isThereMs)),
  };
}

/** Without drafts, whose names start with a dot. */
async function visibleNames(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).filter((name) => !name.startsWith('.'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

const Owner = z.object({ id: z.string(), name: z.string() });

function ownerIn(content: Uint8Array): DatabaseIdentity | undefined {
  return content.length === 0 ? undefined : Owner.parse(JSON.parse(Buffer.from(content).toString()));
}

const isFile = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      throw error;
    },
  );

/** Does once all that jobs will do, so that what is not permitted is known before the first of them. */
async function checkBucket(bucket: Bucket): Promise<string> {
  // Should it be left behind, it is a photo that no job needs, and is swept away.
  const key = `${inputsPrefix}check.${randomToken(22)}`;
  try {
    const address = await bucket.address(checkMs);
    await bucket.put(key, Buffer.from('gen3d'), { type: 'text/plain' }, checkMs);
    const read = await bucket.get(key, checkMs);
    await bucket.remove(key, checkMs);
    if (!read || Buffer.from(read).toString() !== 'gen3d') {
      throw new ConfigError(`Cannot use ${bucket.description}: it does not give back what was stored in it`);
    }
    return `${address}/${assetsPrefix.slice(0, -1)}`;
  } catch (error) {
    if (isStorageUnavailable(error)) throw new ConfigError(error.message, { cause: error });
    throw error;
  }
}
