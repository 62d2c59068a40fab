import { basename, extname } from 'node:path';
import { type ViewSide, viewSides } from '@gen3d/schema/rules';
import { shownName } from '../terminal/terminal.js';
import { modelPath, pathKey } from './output-file.js';
import { isFile } from './photo-input.js';

/** The photos of one object. The model is named after the front. */
export interface PhotoSet {
  readonly front: string;
  readonly views: Readonly<Partial<Record<ViewSide, string>>>;
  /** Why a photo that is named after a side is not in a set with its front. */
  readonly apart?: string;
}

const sideName = new RegExp(`^(.+)\\.(${viewSides.join('|')})\\.[^./\\\\]+$`, 'i');

/**
 * Makes a set of each photo, but joins files such as `mug.left.jpg` with the front of the same name, `mug.jpg`. Without
 * a front, or as a second photo of its side, such a file is a front itself, and `apart` says why.
 */
export function groupPhotos(photos: readonly string[]): PhotoSet[] {
  const sets = photos.map((front): { -readonly [key in keyof PhotoSet]: PhotoSet[key] } => ({ front, views: {} }));
  const fronts = new Map(sets.map((set) => [isFile(set.front) ? pathKey(modelPath(set.front)) : '', set]));
  const joined = new Set<PhotoSet>();
  for (const set of sets) {
    const [, object, side] = (isFile(set.front) && sideName.exec(set.front)) || [];
    if (object === undefined || side === undefined) continue;
    const front = fronts.get(pathKey(`${object}.glb`));
    const view = side.toLowerCase() as ViewSide;
    const other = front?.views[view];
    if (other !== undefined) set.apart = `${nameOf(front!.front)} already has ${nameOf(other)}`;
    else if (!front) set.apart = `its front, such as ${nameOf(object + extname(set.front))}, is missing`;
    else {
      front.views = { ...front.views, [view]: set.front };
      joined.add(set);
    }
  }
  return sets.filter((set) => !joined.has(set));
}

const nameOf = (photo: string) => shownName(basename(photo));

/** Lists the photos of a set, the front first. */
export const photosOf = ({ front, views }: PhotoSet): string[] => [
  front,
  ...viewSides.flatMap((side) => views[side] ?? []),
];

/** Reads the photos of a set as `jobs.create` takes them. */
export async function readPhotos<T>(
  { front, views }: PhotoSet,
  read: (photo: string) => Promise<T>,
): Promise<{ image: T; views?: Partial<Record<ViewSide, T>> }> {
  const image = read(front);
  const others = Object.entries(views).map(async ([side, photo]) => [side, await read(photo)] as const);
  const sides = Object.fromEntries(await Promise.all([image, ...others]).then(([, ...read]) => read));
  return { image: await image, ...(others.length > 0 && { views: sides }) };
}
