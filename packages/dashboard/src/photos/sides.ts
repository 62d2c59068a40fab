import { type PhotoSide, photoExtensions, photoSides } from '@gen3d/schema/rules';

/** Photos by the side of the object that they show. */
export type SidePhotos = { readonly [side in PhotoSide]?: File };
/** The photos that one model is made from. */
export type ObjectPhotos = SidePhotos & { readonly front: File };

export const sideNames: Record<PhotoSide, string> = { front: 'Front', left: 'Left', back: 'Back', right: 'Right' };

/** The file types that an input for photos accepts. */
export const photoTypes = ['image/*', ...photoExtensions].join();

/** Takes each photo as one of another object. */
export const oneEach = (photos: readonly File[]): ObjectPhotos[] => photos.map((front) => ({ front }));

/** Gives each of up to four photos a side: that in its name, such as `mug.left.jpg`, or else the first that is free. */
export function arranged(photos: readonly File[]): SidePhotos {
  const named = photos.map((photo) => photoSides.find((side) => new RegExp(`\\b${side}\\b`, 'i').test(photo.name)));
  const free = photoSides.filter((side) => !named.includes(side));
  const places: { [side in PhotoSide]?: File } = {};
  for (const [index, photo] of photos.entries()) {
    const side = named[index];
    const place = side && !places[side] ? side : free.shift();
    if (place) places[place] = photo;
  }
  return places;
}
