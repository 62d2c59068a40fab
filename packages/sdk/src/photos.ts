import { limits, testKeyBodyBytes, type ViewSide, viewSides } from '@gen3d/schema/rules';
import { InvalidRequestError } from './errors.js';
import { dataUriOf, type ImageInput, invalid, isRemote, readImage } from './image-input.js';
import type { Sharp } from './sharp.js';

/** Photos of other sides of the object. Left is where the photographer of the front finds it. */
export interface Views {
  readonly left?: ImageInput | undefined;
  readonly back?: ImageInput | undefined;
  readonly right?: ImageInput | undefined;
}

/** The `input` of a request. */
export interface JobInput {
  image_urls: string[];
  views?: { [side in ViewSide]?: string };
}

export interface PhotoOptions {
  readonly sharp?: Sharp | undefined;
  /** Whether the request has the public test key, whose limit is smaller. */
  readonly isTestKey?: boolean;
}

// Leaves room for base64 and for the other fields, which may be long URLs.
const maxTogether = (limits.bodyBytes - 64 * 1024) * 0.75;
const maxTogetherWithTestKey = (testKeyBodyBytes - 4_096) * 0.75;

/**
 * Reads the photos of one object. Those that are part of the request have equal shares of its room.
 *
 * @throws {InvalidRequestError} if one cannot be sent. The message names its side
 */
export async function readPhotos(
  front: ImageInput,
  views: Views = {},
  { sharp, isTestKey = false }: PhotoOptions = {},
): Promise<JobInput> {
  const unknown = Object.keys(views).find((name) => !viewSides.some((side) => side === name));
  if (unknown !== undefined) throw invalid(`views.${unknown} is not a side. The sides are ${viewSides.join(', ')}`);
  const sides = viewSides.filter((side) => views[side] !== undefined);
  const count = [front, ...sides.map((side) => views[side])].filter((photo) => !isRemote(photo)).length;
  const read = async (photo: ImageInput) => {
    const image = await readImage(photo, sharp, Math.min(limits.inlineImageBytes, maxTogether / count));
    if (typeof image === 'string') return image;
    // The result for the test key does not depend on the photos, so the start of large ones is enough.
    return dataUriOf(isTestKey ? image.slice(0, maxTogetherWithTestKey / count, image.type) : image);
  };
  const input: JobInput = { image_urls: [await read(front)] };
  for (const side of sides) {
    try {
      input.views = { ...input.views, [side]: await read(views[side]!) };
    } catch (error) {
      throw error instanceof InvalidRequestError ? invalid(`views.${side}: ${error.message}`, { cause: error }) : error;
    }
  }
  return input;
}
