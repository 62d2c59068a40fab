import {
  describeFileType,
  imageSize,
  inlineImageTypes,
  isPhotoType,
  labelOfUrl,
  limits,
  oneLine,
  photoFormatChoice,
  sniffFileType,
} from '@gen3d/schema/rules';
import { chunksOf, readAll } from './byte-stream.js';
import { fileSystem } from './environment.js';
import { InvalidRequestError } from './errors.js';
import { type FitOptions, fitImage, maxSourceBytes } from './fit-image.js';
import { bytesIn, codeOf, messageOf, tagOf } from './realms.js';
import type { Sharp } from './sharp.js';

/**
 * A photo: a path (Node, Bun, Deno), an http(s) URL, a data URI, bytes, a Blob or File, or a stream of bytes.
 *
 * The server fetches a URL, whose image may be up to 25 MiB. All other images are part of the request: PNG, JPEG or
 * WebP of up to 4 MiB. Browsers scale images that are larger, or have more than 32 megapixels, to the 2048 pixels that
 * the server uses, and convert other formats that they can decode. So do other platforms if the package `sharp` is
 * installed, and for HEIC `heic-decode`. Of the browsers, only Safari can decode HEIC.
 */
export type ImageInput =
  | string
  | URL
  | Uint8Array
  | ArrayBuffer
  | Blob
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array>;

/**
 * Reads a photo, and makes it part of a request.
 *
 * @returns a URL or data URI that can be sent as it is, or an image for `dataUriOf`
 * @throws {InvalidRequestError} if it cannot be read, or is not a PNG, JPEG or WebP of at most `maxBytes` and this
 *   platform cannot make it one
 */
export async function readImage(
  image: ImageInput,
  sharp?: Sharp,
  maxBytes: number = limits.inlineImageBytes,
): Promise<string | Blob> {
  const inline = (image: Blob | Uint8Array<ArrayBuffer>, name?: string) =>
    prepare(image instanceof Blob ? image : new Blob([image]), maxBytes, { name, sharp });
  const inlineStream = async (chunks: AsyncIterable<Uint8Array>) =>
    inline(await readAll(chunks, maxSourceBytes, (size) => tooLarge('The image', size)));
  const inlineFile = async (path: string | URL) => inline(await readFile(path), String(path));
  const location = image instanceof URL ? image.href : image;
  if (typeof location === 'string' && location !== '') {
    if (/^data:/i.test(location)) return inline(bytesOfDataUri(location));
    if (/^file:\/\//i.test(location) && URL.canParse(location)) return inlineFile(new URL(location));
    return /^[a-z][a-z0-9+.-]*:\/\//i.test(location) ? remote(location) : inlineFile(location);
  }
  if (image instanceof Blob) return inline(image);
  const bytes = bytesIn(image);
  if (bytes) return inline(bytes);
  if (typeof image === 'object' && image !== null) {
    if ('getReader' in image) return inlineStream(chunksOf(image));
    if (Symbol.asyncIterator in image) return inlineStream(image);
  }
  const problem = image === undefined || image === '' ? 'missing' : `of type ${tagOf(image)}`;
  throw invalid(
    `image is ${problem}. Pass a path, an http(s) URL, a data URI, bytes, a Blob or a stream of bytes, ` +
      "as in jobs.create({ image: 'mug.jpg' })",
  );
}

export async function dataUriOf(image: Blob): Promise<string> {
  return `data:${image.type};base64,${base64(new Uint8Array(await image.arrayBuffer()))}`;
}

/** Returns the name of an image's file. Undefined if it has none, and for a URL, because the server names that job. */
export function labelOf(image: ImageInput): string | undefined {
  if (image instanceof Blob) return fileName(nameIn(image));
  const location = typeof image === 'string' || image instanceof URL ? String(image) : '';
  if (/^file:\/\//i.test(location)) return labelOfUrl(location) ?? undefined;
  return /^(data:|[a-z][a-z0-9+.-]*:\/\/)/i.test(location) ? undefined : fileName(location);
}

const fileName = (path: string | undefined) => path?.split(/[/\\]/).pop();
const nameIn = (image: Blob) => ('name' in image && typeof image.name === 'string' ? image.name : undefined);

export const invalid = (message: string, options?: ErrorOptions) =>
  new InvalidRequestError('invalid_request', message, options);

export interface PrepareImageOptions extends FitOptions {
  /** Names the image in error messages. Default: the name of a `File`. */
  readonly name?: string | undefined;
}

/**
 * Makes an image part of a request: a PNG, JPEG or WebP of at most 4 MiB and 32 megapixels. An image that fits is
 * returned as it is. `create` calls this itself; call it to show or store what is sent.
 *
 * @throws {InvalidRequestError} if the image is not one, or this platform cannot convert it
 * @example
 * const photo = await prepareImage(file);
 * preview.src = URL.createObjectURL(photo);
 * await gen3d.jobs.create({ image: photo });
 */
export async function prepareImage(image: Blob, options: PrepareImageOptions = {}): Promise<Blob> {
  if (!(image instanceof Blob))
    throw invalid('prepareImage takes a Blob or a File. `jobs.create` and `generate` also take paths');
  return prepare(image, limits.inlineImageBytes, options);
}

async function prepare(
  image: Blob,
  maxBytes: number,
  { name = nameIn(image) ?? 'The image', ...options }: PrepareImageOptions,
): Promise<Blob> {
  if (image.size > maxSourceBytes) throw tooLarge(name, image.size);
  if (image.size === 0) throw invalid(`${name} is empty`);
  const bytes = new Uint8Array(await image.arrayBuffer());
  const type = sniffFileType(bytes);
  const mediaType = inlineImageTypes.find((one) => one === `image/${type}`);
  // A browser takes the type from the name of the file, which may be wrong.
  const source = new Blob([bytes], { type: mediaType ?? image.type });
  const isSmall = mediaType !== undefined && bytes.length <= maxBytes;
  const { width = 0, height = 0 } = (isSmall && imageSize(bytes)) || {};
  const mayStay = isSmall && options.maxSide === undefined;
  if (mayStay && width * height <= maxQuickPixels) return source;
  const problem = `${name} is ${mediaType && !isSmall ? describeSize(bytes.length, maxBytes) : describeFileType(type)}`;
  if (!isPhotoType(type)) throw invalid(`${problem}. Send a ${photoFormatChoice}`);
  try {
    return await fitImage(source, type, maxBytes, options);
  } catch (cause) {
    // The server decodes it too, but needs more time, and refuses more than 100 megapixels.
    if (mayStay) return source;
    const reason = oneLine(messageOf(cause)).replace(/\.$/, '');
    const remedy = `Send a PNG, JPEG or WebP of at most ${describeLimit(maxBytes)} and 32 megapixels`;
    throw invalid(`${problem}, and cannot be converted here: ${reason}. ${remedy}`, { cause });
  }
}

/** The server decodes an image of more pixels only when it has much memory to spare. */
const maxQuickPixels = 32e6;

const describeSize = (bytes: number, maxBytes: number) =>
  `${(bytes / 1024 ** 2).toFixed(1)} MiB, more than the ${describeLimit(maxBytes)} that fit in a request`;

const describeLimit = (maxBytes: number) => `${Math.floor((10 * maxBytes) / 1024 ** 2) / 10} MiB`;

const tooLarge = (name: string, bytes: number) =>
  invalid(`${name} is ${describeSize(bytes, limits.inlineImageBytes)}. Make the image smaller`);

/** Whether an image, a model or a thumbnail is given as an http(s) URL. */
export const isRemote = (source: unknown): boolean =>
  (typeof source === 'string' || source instanceof URL) && /^https?:/i.test(String(source));

function remote(url: string): string {
  if (isRemote(url) && URL.canParse(url)) return url;
  throw invalid(`${url} is not a valid http(s) or file URL`);
}

/** Returns the bytes of a base64 data URI, whatever media type it has. */
function bytesOfDataUri(uri: string): Uint8Array<ArrayBuffer> {
  // The default is not base64, so `atob` rejects it.
  const [, base64 = '?'] = /^[^,]*;\s*base64,(.*)$/is.exec(uri) ?? [];
  try {
    const text = atob(base64);
    return Uint8Array.from({ length: text.length }, (_, index) => text.charCodeAt(index));
  } catch (cause) {
    const remedy = 'Pass its bytes, or a complete data:image/jpeg;base64,…';
    throw invalid(`The data URI of the image is not base64. ${remedy}`, { cause });
  }
}

async function readFile(path: string | URL): Promise<Uint8Array<ArrayBuffer>> {
  const name = String(path);
  const files = fileSystem();
  if (!files) {
    throw invalid(
      `"${name}" looks like a path, but this platform has no file system. Pass a File, a Blob, bytes or a URL`,
    );
  }
  try {
    const file = await files.stat(path);
    if (!file.isFile()) throw invalid(`${name} is not a file`);
    // Checked before reading, to avoid loading a video only to reject it.
    if (file.size > maxSourceBytes) throw tooLarge(name, file.size);
    return bytesIn(await files.readFile(path))!;
  } catch (cause) {
    if (cause instanceof InvalidRequestError) throw cause;
    const problem = codeOf(cause) === 'ENOENT' ? 'does not exist' : `cannot be read: ${messageOf(cause)}`;
    throw invalid(`${name} ${problem}`, { cause });
  }
}

// A call's arguments are limited by the stack; 32 Ki of them fit everywhere. A multiple of 3 makes the pieces joinable.
const pieceSize = 3 * 10_922;

/** Encodes standard base64 with padding, without Node's Buffer. */
function base64(bytes: Uint8Array): string {
  let text = '';
  for (let start = 0; start < bytes.length; start += pieceSize) {
    text += btoa(String.fromCharCode(...bytes.subarray(start, start + pieceSize)));
  }
  return text;
}
