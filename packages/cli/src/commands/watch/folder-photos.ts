import { readdir, stat } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { photoExtensions } from '@gen3d/schema/rules';
import { exitCode, Failed } from '../../exit/failure.js';
import { hasCode } from '../../files/system-errors.js';
import { modelPath } from '../../jobs/output-file.js';
import { groupPhotos, type PhotoSet, photosOf } from '../../jobs/photo-set.js';
import { shellWord } from '../../terminal/format.js';
import { paint, say, shownName } from '../../terminal/terminal.js';

/**
 * How often the folder is listed. File systems of networks and virtual machines report no changes by others, so there is
 * nothing to listen to. A file whose size and time are the same in two lists is complete.
 */
const listMs = 1_000;
/** How many times a photo of a side is listed without its front before a message names it. Copying takes a while. */
const listsWithoutFront = 10;

/**
 * Yields the photos in a folder that have no model, and again when one of their files changes. A model that was made may
 * be moved away. Ignores subfolders and hidden files. Ends when the signal aborts, which is the normal way to stop.
 *
 * A photo that is named after a side waits for its front.
 *
 * @throws {Failed} if the folder is removed or replaced
 */
export async function* settledPhotos(folder: string, inode: number, signal: AbortSignal): AsyncGenerator<PhotoSet> {
  // The states of the files of each front: in the last list, and when they were last yielded.
  const seen = new Map<string, string>();
  const yielded = new Map<string, string>();
  const missingFronts = new Map<string, number>();
  while (!signal.aborted) {
    const names = await namesIn(folder, inode);
    const present = new Set(names);
    for (const photos of groupPhotos(names.filter(isPhoto).map((name) => join(folder, name)))) {
      const { front, apart } = photos;
      if (present.has(basename(modelPath(front)))) continue;
      if (apart !== undefined) {
        const lists = (missingFronts.get(front) ?? 0) + 1;
        missingFronts.set(front, lists);
        if (lists === listsWithoutFront) nameApart(front, apart);
      } else {
        const state = await stateOf(photos);
        const isSettled = state !== undefined && state === seen.get(front);
        seen.set(front, state ?? '');
        if (!isSettled || state === yielded.get(front)) continue;
        yielded.set(front, state);
        yield photos;
      }
    }
    await sleep(listMs, undefined, { signal }).catch(() => {});
  }
}

/** Names a photo of a side whose front is still missing. */
function nameApart(photo: string, problem: string): void {
  const command = `gen3d create ${shellWord(photo)} --wait`;
  const advice = `${problem}. To make a model from this photo alone: ${command}`;
  say(`${paint('yellow', '•')} ${shownName(basename(photo))}  ${advice}`);
}

/** Lists the names in the folder. Returns none while it cannot be read. */
async function namesIn(folder: string, inode: number): Promise<string[]> {
  const entries = await readdir(folder).catch((): string[] => []);
  const isGone = await stat(folder).then(
    ({ ino }) => ino !== inode,
    (error: unknown) => hasCode(error, 'ENOENT'),
  );
  if (isGone) throw new Failed(exitCode.failed, `${folder} was removed or replaced. Run the command again to watch it`);
  return entries;
}

const isPhoto = (name: string) => !name.startsWith('.') && photoExtensions.includes(extname(name).toLowerCase());

/** Describes the files of an object. Changes when one of them does. Undefined without files that can be read. */
async function stateOf(photos: PhotoSet): Promise<string | undefined> {
  const files = await Promise.all(photosOf(photos).map((photo) => stat(photo).catch(() => undefined)));
  if (!files.every((file) => file?.isFile())) return undefined;
  return files.map((file, index) => [photosOf(photos)[index], file?.size, file?.mtimeMs].join(' ')).join('\n');
}
