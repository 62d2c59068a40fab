import { type ViewSide, viewSides } from '@gen3d/schema/rules';
import { modelPath, pathKey } from './output-file.js';
import { isFile } from './photo-input.js';

/** The photos of one object. The model is named after the front. */
export interface PhotoSet {
  readonly front: string;
  readonly views: Readonly<Partial<Record<ViewSide, string>>>;
}

const sideName = new RegExp(`^(.+)\\.(${viewSides.join('|')})\\.[^./\\\\]+$`, 'i');

/**
 * Makes a set of each photo, but joins files such as `mug.left.jpg` with the front of the same name, `mug.jpg`. Without
 * a front, such a file is a front itself.
 */
export function groupPhotos(photos: readonly string[]): PhotoSet[] {
  const sets = photos.map((front) => ({ front, views: {} as Partial<Record<ViewSide, string>> }));
  const fronts = new Map(sets.map((set) => [isFile(set.front) ? pathKey(modelPath(set.front)) : '', set]));
  const joined = new Set<PhotoSet>();
  for (const set of sets) {
    const [, object, side] = (isFile(set.front) && sideName.exec(set.front)) || [];
    const front = object === undefined ? undefined : fronts.get(pathKey(`${object}.glb`));
    if (side === undefined || !front) continue;
    const view = side.toLowerCase() as ViewSide;
    // A second photo of a side is an object of its own.
    if (front.views[view] !== undefined) continue;
    front.views[view] = set.front;
    joined.add(set);
  }
  return sets.filter((set) => !joined.has(set));
}

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
