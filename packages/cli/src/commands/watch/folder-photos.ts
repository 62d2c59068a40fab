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
 * Yields the photos in a folder that have no model yet, and again whenever one of their files has changed. Ignores
 * subfolders and hidden files. Ends when the signal aborts, which is the normal way to stop.
 *
 * A photo that is named after a side waits for its front. If it arrives after its front's job was created, a message
 * names it. Once the model is deleted, it is yielded with its front.
 *
 * @param sent the photos of the last job of each front. Models that have no job here are added with all their photos.
 * @throws {Failed} if the folder is removed or replaced
 */
export async function* settledPhotos(
  folder: string,
  inode: number,
  sent: Map<string, PhotoSet>,
  signal: AbortSignal,
): AsyncGenerator<PhotoSet> {
  const watched = new WatchedPhotos(sent);
  while (!signal.aborted) {
    const names = await namesIn(folder, inode);
    const present = new Set(names);
    for (const photos of groupPhotos(names.filter(isPhoto).map((name) => join(folder, name)))) {
      const model = basename(modelPath(photos.front));
      if (present.has(model)) watched.nameLate(photos, model);
      else if (photos.apart !== undefined) watched.nameApart(photos.front, photos.apart);
      else if (await watched.hasSettled(photos)) yield photos;
    }
    await sleep(listMs, undefined, { signal }).catch(() => {});
  }
}

/** Remembers the photos in a folder from one list to the next. */
class WatchedPhotos {
  /** Photos that a message has named. */
  readonly #named = new Set<string>();
  readonly #sent: Map<string, PhotoSet>;
  /** The states of the files of each front: in the last list, and when they were last yielded. */
  readonly #seen = new Map<string, string>();
  readonly #yielded = new Map<string, string>();
  /** The number of lists in which a photo of a side had no front. */
  readonly #apart = new Map<string, number>();

  constructor(sent: Map<string, PhotoSet>) {
    this.#sent = sent;
  }

  /** Names the photos of other sides that arrived after the job of a front that has a model. */
  nameLate(photos: PhotoSet, model: string): void {
    const { front } = photos;
    const used = this.#sent.get(front) ?? photos;
    this.#sent.set(front, used);
    const late = photosOf(photos).filter((photo) => !photosOf(used).includes(photo));
    for (const photo of late.filter((photo) => !this.#named.has(photo))) {
      note(photo, `is not in ${shownName(model)}. Delete ${shownName(model)} to make it again with this photo`);
      this.#named.add(photo);
    }
    if (late.length > 0) this.#yielded.delete(front);
  }

  /** Names a photo of a side whose front is still missing. */
  nameApart(photo: string, problem: string): void {
    const lists = (this.#apart.get(photo) ?? 0) + 1;
    this.#apart.set(photo, lists);
    const command = `gen3d create ${shellWord(photo)} --wait`;
    if (lists === listsWithoutFront) note(photo, `${problem}. To make a model from this photo alone: ${command}`);
  }

  /** Whether the files are complete, and have changed since they were last yielded. */
  async hasSettled(photos: PhotoSet): Promise<boolean> {
    const { front } = photos;
    const state = await stateOf(photos);
    const hasSettled = state !== undefined && state === this.#seen.get(front) && state !== this.#yielded.get(front);
    if (hasSettled) this.#yielded.set(front, state);
    this.#seen.set(front, state ?? '');
    return hasSettled;
  }
}

const note = (photo: string, text: string) => say(`${paint('yellow', '•')} ${shownName(basename(photo))}  ${text}`);

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
