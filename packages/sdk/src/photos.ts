import { limits, type ViewSide, viewSides } from '@gen3d/schema/rules';
import { InvalidRequestError } from './errors.js';
import { fitImage } from './fit-image.js';
import { dataUriOf, type ImageInput, invalid, readImage } from './image-input.js';
import { messageOf } from './realms.js';
import type { Sharp } from './sharp.js';

/** Photos of other sides of the object. Left is where the photographer of the front finds it. */
export interface Views {
  readonly left?: ImageInput | undefined;
  readonly back?: ImageInput | undefined;
  readonly right?: ImageInput | undefined;
}

/** A photo that is ready to be sent: a URL, or an image for a data URI. */
interface Photo {
  readonly side: 'front' | ViewSide;
  readonly image: string | Blob;
}

/** So many bytes of images fit into a request, as base64 and with the other fields, which may be long URLs. */
const maxTogether = (limits.bodyBytes - 64 * 1024) * 0.75;

/**
 * Reads the photos of one object, so that they fit into a request together.
 *
 * @throws {InvalidRequestError} if one cannot be sent. The message names its side
 */
export async function readPhotos(front: ImageInput, views: Views = {}, sharp?: Sharp): Promise<readonly Photo[]> {
  const photos: Photo[] = [{ side: 'front', image: await readImage(front, sharp) }];
  const unknown = Object.keys(views).find((name) => !viewSides.some((side) => side === name));
  if (unknown !== undefined) throw invalid(`views.${unknown} is not a side. The sides are ${viewSides.join(', ')}`);
  for (const side of viewSides) {
    const view = views[side];
    if (view === undefined) continue;
    try {
      photos.push({ side, image: await readImage(view, sharp) });
    } catch (error) {
      throw error instanceof InvalidRequestError ? invalid(`views.${side}: ${error.message}`, { cause: error }) : error;
    }
  }
  if (bytesOf(photos) <= maxTogether) return photos;
  try {
    return await fitTogether(photos, sharp);
  } catch (cause) {
    const problem = `The ${photos.length} photos do not fit into a request together`;
    throw invalid(`${problem}, and cannot be made smaller here: ${messageOf(cause)}`, { cause });
  }
}

/** Returns the `input` of a request. @param maxBytes sends only the start of larger images */
export async function inputOf(photos: readonly Photo[], maxBytes = Number.POSITIVE_INFINITY): Promise<JobInput> {
  const entries: [Photo['side'], string][] = [];
  for (const { side, image } of photos) {
    entries.push([side, typeof image === 'string' ? image : await dataUriOf(image, maxBytes / photos.length)]);
  }
  const { front = '', ...views } = Object.fromEntries(entries) as Partial<Record<Photo['side'], string>>;
  return { image_urls: [front], ...(photos.length > 1 && { views }) };
}

export interface JobInput {
  image_urls: string[];
  views?: { [side in ViewSide]?: string };
}

const bytesOf = (photos: readonly Photo[]) =>
  photos.reduce((sum, { image }) => sum + (typeof image === 'string' ? 0 : image.size), 0);

/** Gives each photo an equal share. */
async function fitTogether(photos: readonly Photo[], sharp: Sharp | undefined): Promise<readonly Photo[]> {
  const maxBytes = maxTogether / photos.filter(({ image }) => typeof image !== 'string').length;
  const fitted: Photo[] = [];
  for (const { side, image } of photos) {
    if (typeof image === 'string' || image.size <= maxBytes) fitted.push({ side, image });
    else {
      const type = image.type === 'image/jpeg' ? 'jpeg' : undefined;
      fitted.push({ side, image: await fitImage(image, { type, maxBytes, sharp }) });
    }
  }
  return fitted;
}
