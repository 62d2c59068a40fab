import { access, readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { writeDurably } from '../base/durable-file.js';
import { ifMissing } from '../base/errors.js';
import type { FileStores } from '../data/installation/file-stores.js';
import type { Store } from '../data/installation/open-stores.js';

/** Folder of the location markers: one file per database that uses the location. */
const markerFolder = '.installations';

export interface DatabaseIdentity {
  /** Unique per database: a copy made by a dump or a backup gets a different one. */
  id: string;
  /** Names the database in messages. */
  name: string;
}

/** States which database uses a location. */
export interface LocationMarker {
  name: string;
  /** Path of the file or object, for people. */
  path: string;
  owner: DatabaseIdentity;
}

/** Stores with the markers of their location. */
export interface MarkedFiles extends FileStores {
  /** True if the location has the marker. */
  hasMarker(name: string): Promise<boolean>;
  setMarker(name: string, owner: DatabaseIdentity): Promise<void>;
  markers(): Promise<LocationMarker[]>;
}

const isMarked = (files: FileStores): files is MarkedFiles => 'markers' in files;

/** Adds markers to stores in folders. The stores of a bucket have them already. */
export function withMarkers({ files, dirs }: Pick<Store, 'files' | 'dirs'>): MarkedFiles {
  if (isMarked(files)) return files;
  // The marker for inputs is in the data directory, because every file in `inputs` is an image.
  const markerFolders = [dirs.assets, dirname(dirs.inputs)].map((folder) => join(folder, markerFolder));
  return {
    ...files,
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
  };
}

/** Excludes drafts, whose names start with a dot. */
async function visibleNames(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(ifMissing([]));
  return names.filter((name) => !name.startsWith('.'));
}

const Owner = z.object({ id: z.string(), name: z.string() });

export const ownerIn = (content: Uint8Array): DatabaseIdentity =>
  Owner.parse(JSON.parse(Buffer.from(content).toString()));

const isFile = (path: string): Promise<boolean> => access(path).then(() => true, ifMissing(false));
