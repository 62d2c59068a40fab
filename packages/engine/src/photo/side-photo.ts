import type { ViewSide } from '@gen3d/schema/rules';
import type { DecodedPhoto } from './decode.js';

/** A photo of one side of the object. */
export interface SidePhoto {
  readonly photo: Uint8Array | DecodedPhoto;
  readonly side: 'front' | ViewSide;
}

/** A photo of the front, or up to four photos of different sides, one of which is the front. */
export type Photos = Uint8Array | DecodedPhoto | readonly SidePhoto[];

/** A photo of another side than the front. */
export interface OtherPhoto extends SidePhoto {
  readonly side: ViewSide;
}

/**
 * Separates the photo of the front from those of other sides.
 *
 * @throws {TypeError} unless exactly one is of the front, and at most one of each other side
 */
export function frontAndOthers(photos: Photos): { front: SidePhoto['photo']; others: readonly OtherPhoto[] } {
  if (!isList(photos)) return { front: photos, others: [] };
  if (new Set(photos.map(({ side }) => side)).size < photos.length) {
    throw new TypeError('Two photos are of the same side. Give one photo for each side.');
  }
  const front = photos.find(({ side }) => side === 'front');
  if (!front) throw new TypeError('No photo is of the front. Give the side of one photo as "front".');
  return { front: front.photo, others: photos.filter((photo): photo is OtherPhoto => photo.side !== 'front') };
}

const isList = (photos: Photos): photos is readonly SidePhoto[] => Array.isArray(photos);
