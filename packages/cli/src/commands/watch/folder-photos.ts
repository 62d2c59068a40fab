import { isUtf8 } from 'node:buffer';
import { readdir, stat } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { photoExtensions } from '@gen3d/schema/rules';
import { exitCode, Failed } from '../../exit/failure.js';
import { hasCode } from '../../files/system-errors.js';
import { modelPath } from '../../jobs/output-file.js';
import { groupPhotos, type PhotoSet, photosOf } from '../../jobs/photo-set.js';
import { cross, say, shownName } from '../../terminal/terminal.js';

/**
 * How often the folder is listed. File systems of networks and virtual machines report no changes by others, so there is
 * nothing to listen to. A file whose size and time are the same in two lists is complete.
 */
const listMs = 1_000;

/**
 * Yields the photos in a folder that have no model yet, and again whenever one of their files has changed. Ignores
 * subfolders and hidden files. Ends when the signal aborts, which is the normal way to stop.
 *
 * @throws {Failed} if the folder is removed or replaced
 */
export async function* settledPhotos(folder: string, inode: number, signal: AbortSignal): AsyncGenerator<PhotoSet> {
  const lastSeen = new Map<string, string>();
  const yielded = new Map<string, string>();
  const refused = new Set<string>();
  while (!signal.aborted) {
    const names = await namesIn(folder, inode, refused);
    const present = new Set(names);
    for (const photos of groupPhotos(names.filter(isPhoto).map((name) => join(folder, name)))) {
      const { front } = photos;
      if (present.has(basename(modelPath(front)))) continue;
      const state = await stateOf(photos);
      if (state !== undefined && state === lastSeen.get(front) && state !== yielded.get(front)) {
        yielded.set(front, state);
        yield photos;
      }
      lastSeen.set(front, state ?? '');
    }
    await sleep(listMs, undefined, { signal }).catch(() => {});
  }
}

/** Lists the names in the folder, and names once those that are not valid. Empty while the folder cannot be read. */
async function namesIn(folder: string, inode: number, refused: Set<string>): Promise<string[]> {
  const entries = await readdir(folder, { encoding: 'buffer' }).catch(() => []);
  const isGone = await stat(folder).then(
    ({ ino }) => ino !== inode,
    (error: unknown) => hasCode(error, 'ENOENT'),
  );
  if (isGone) throw new Failed(exitCode.failed, `${folder} was removed or replaced. Run the command again to watch it`);
  return entries.flatMap((entry) => {
    const name = entry.toString();
    if (isUtf8(entry)) return name;
    if (isPhoto(name) && !refused.has(name))
      say(`${cross()} ${shownName(name)}  Its name is not valid UTF-8. Rename it`);
    refused.add(name);
    return [];
  });
}

const isPhoto = (name: string) => !name.startsWith('.') && photoExtensions.includes(extname(name).toLowerCase());

/** Describes the files of an object. Changes when one of them does. Undefined without files that can be read. */
async function stateOf(photos: PhotoSet): Promise<string | undefined> {
  const files = await Promise.all(photosOf(photos).map((photo) => stat(photo).catch(() => undefined)));
  if (!files.every((file) => file?.isFile())) return undefined;
  return files.map((file, index) => [photosOf(photos)[index], file?.size, file?.mtimeMs].join(' ')).join('\n');
}
