import {
  describeFileType,
  imageSize,
  inlineImageTypes,
  isPhotoType,
  labelOfUrl,
  limits,
  photoFormatChoice,
  sniffFileType,
} from '@gen3d/schema/rules';
import { chunksOf, readAll } from './byte-stream.js';
import { fileSystem } from './environment.js';
import { InvalidRequestError } from './errors.js';
import { type Bitmap, FloatingPointError, imageFitter, maxSourceBytes } from './fit-image.js';
import { loadLibheif } from './heic.js';
import { PackageLoadError } from './optional-package.js';
import { bytesIn, codeOf, isBlob, isUrl, isWebStream, messageOf, readBlob, tagOf } from './realms.js';
import type { Sharp } from './sharp.js';

/**
 * A photo: a path (Node, Bun, Deno), an http(s) URL, a data URI, bytes, a Blob or File, or a stream of bytes.
 *
 * The server fetches a URL, whose image may be up to 25 MiB. All other images are part of the request: PNG, JPEG or
 * WebP of up to 4 MiB. Browsers scale images that are larger, or have more than 32 megapixels, to the 2048 pixels that
 * the server uses, and convert other formats that they can decode. So do other platforms if the package `sharp` is
 * installed, and for HEIC `libheif-js`. Of the browsers, only Safari can decode HEIC.
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
 * @throws {InvalidRequestError} if it cannot be read, or is not a PNG, JPEG or WebP of at most 4 MiB and this platform
 *   cannot make it one
 */
export async function readImage(image: ImageInput, sharp?: Sharp): Promise<string | Blob> {
  const inline = (image: Blob | Uint8Array<ArrayBuffer>, name?: string) =>
    prepareImage(isBlob(image) ? image : new Blob([image]), { name, sharp });
  const inlineStream = async (chunks: AsyncIterable<Uint8Array>) =>
    inline(await readAll(chunks, maxSourceBytes, (size) => sizeProblem('The image', size)));
  const inlineFile = async (path: string | URL) => inline(await readFile(path), String(path));
  if (isUrl(image)) return image.protocol === 'file:' ? inlineFile(image) : remote(image.href);
  if (image === '') throw invalid('image is an empty string. Pass a path, an http(s) URL or a data URI');
  if (typeof image === 'string') {
    if (/^data:/i.test(image)) return inline(bytesOfDataUri(image));
    if (/^file:\/\//i.test(image)) {
      if (!URL.canParse(image)) throw invalid(`${image} is not a valid file URL. Pass the path of the file`);
      return inlineFile(new URL(image));
    }
    return /^[a-z][a-z0-9+.-]*:\/\//i.test(image) ? remote(image) : inlineFile(image);
  }
  if (isBlob(image)) return inline(image);
  const bytes = bytesIn(image);
  if (bytes) return inline(bytes);
  if (isWebStream(image)) return inlineStream(chunksOf(image));
  if (typeof image === 'object' && image !== null && Symbol.asyncIterator in image) return inlineStream(image);
  const problem = image === undefined ? 'missing' : `of type ${tagOf(image)}`;
  throw invalid(
    `image is ${problem}. Pass a path, an http(s) URL, a data URI, bytes, a Blob or a stream of bytes, ` +
      "as in jobs.create({ image: 'mug.jpg' })",
  );
}

/** Converts an image to a data URI. @param maxBytes converts only the start of a larger image */
export async function dataUriOf(image: Blob, maxBytes?: number): Promise<string> {
  return `data:${image.type};base64,${base64(await readBlob(image.slice(0, maxBytes)))}`;
}

/** Returns the name of an image's file. Undefined if it has none, and for a URL, because the server names that job. */
export function labelOf(image: ImageInput): string | undefined {
  if (isBlob(image)) return fileName(nameIn(image));
  const location = typeof image === 'string' || isUrl(image) ? String(image) : '';
  if (/^file:\/\//i.test(location)) return labelOfUrl(location) ?? undefined;
  return /^(data:|[a-z][a-z0-9+.-]*:\/\/)/i.test(location) ? undefined : fileName(location);
}

const fileName = (path: string | undefined) => path?.split(/[/\\]/).pop();
const nameIn = (image: Blob) => ('name' in image && typeof image.name === 'string' ? image.name : undefined);

export const invalid = (message: string, options?: ErrorOptions) =>
  new InvalidRequestError('invalid_request', message, options);

export interface PrepareImageOptions {
  /** Names the image in error messages. Default: the name of a `File`. */
  readonly name?: string | undefined;
  /** Scales the image to at most this many pixels a side, even if it would fit. */
  readonly maxSide?: number | undefined;
  /** Decodes an image to an `ImageBitmap`, for formats that not all browsers support. Default: `createImageBitmap`. */
  readonly decode?: ((image: Blob) => Promise<Bitmap>) | undefined;
  /** The package sharp, where it cannot be found by its name: see `Gen3dOptions`. */
  readonly sharp?: Sharp | undefined;
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
  if (!isBlob(image))
    throw invalid('prepareImage takes a Blob or a File. `jobs.create` and `generate` also take paths');
  const { name = nameIn(image) ?? 'The image', maxSide, decode, sharp } = options;
  requireReadable(name, image.size);
  if (image.size === 0) throw invalid(`${name} is empty`);
  const bytes = await readBlob(image);
  // A Blob of this realm, which only such a realm's functions accept.
  const source = new Blob([bytes], { type: image.type });
  const type = sniffFileType(bytes);
  const mediaType = inlineImageTypes.find((one) => one === `image/${type}`);
  const isSmall = mediaType !== undefined && source.size <= limits.inlineImageBytes;
  const found = isSmall ? imageSize(bytes) : undefined;
  const pixels = found ? found.width * found.height : 0;
  const asItIs = () => (source.type === mediaType ? source : source.slice(0, source.size, mediaType));
  if (isSmall && pixels <= maxQuickPixels && maxSide === undefined) return asItIs();

  const size = isSmall ? `${Math.round(pixels / 1e6)} megapixels` : tooLarge(source.size);
  const problem = `${name} is ${mediaType ? size : describeFileType(type)}`;
  if (!isPhotoType(type)) throw invalid(`${problem}. Send a ${photoFormatChoice}`);
  const isHeic = type === 'heic' && !decode;
  try {
    const fit = await imageFitter(sharp);
    if (!fit) throw invalid(`${problem}. ${isHeic ? heicRemedy() : withoutFitter(!mediaType)}`);
    const fitted = await fit(source, { type, maxSide, decode });
    if (!fitted) throw invalid(`${problem}, and cannot be made smaller here. Make the image smaller`);
    return fitted;
  } catch (cause) {
    // The server decodes it too, but needs more time.
    if (isSmall && pixels <= maxPixels && maxSide === undefined) return asItIs();
    if (cause instanceof InvalidRequestError) throw cause;
    const isKnown = mediaType !== undefined;
    throw invalid(await conversionProblem(cause, { name, problem, pixels, isHeic, isKnown }), { cause });
  }
}

interface UnfitImage {
  readonly name: string;
  /** The start of the sentence: what the image is. */
  readonly problem: string;
  readonly pixels: number;
  readonly isHeic: boolean;
  readonly isKnown: boolean;
}

async function conversionProblem(
  cause: unknown,
  { name, problem, pixels, isHeic, isKnown }: UnfitImage,
): Promise<string> {
  if (cause instanceof PackageLoadError) {
    const remedy = cause.message.startsWith('sharp') ? ', or pass it: new Gen3d({ sharp })' : '';
    return `${problem}. ${cause.message}. Install it for this platform${remedy}`;
  }
  if (cause instanceof FloatingPointError)
    return `${problem} whose pixels are floating-point numbers. Save it as PNG, JPEG or WebP`;
  if (isHeic && !(await loadLibheif())) return `${problem}, which cannot be decoded here. ${heicRemedy()}`;
  if (pixels > maxPixels) return `${problem}, which could not be scaled down here. Make the image smaller`;
  const cannotDecode = isKnown ? `${name} cannot be decoded` : `${problem} that cannot be decoded here`;
  return `${cannotDecode}. Check that the file is complete, or save it as PNG, JPEG or WebP`;
}

/** The server decodes an image of more pixels only when it has much memory to spare. */
const maxQuickPixels = 32e6;
/** The server refuses an image of more pixels. */
const maxPixels = 100e6;

/** Makes a PNG, JPEG or WebP smaller. Undefined if that is not possible here. */
export async function fitImage(image: Blob, maxBytes: number, sharp?: Sharp): Promise<Blob | undefined> {
  try {
    const fit = await imageFitter(sharp);
    return await fit?.(image, { type: image.type === 'image/jpeg' ? 'jpeg' : undefined, maxBytes });
  } catch {
    return undefined;
  }
}

const accepted = 'Send a PNG, JPEG or WebP';

const mebibytes = (size: number) => `${(size / 1024 ** 2).toFixed(1)} MiB`;

const tooLarge = (size: number) => `${mebibytes(size)}, more than the 4 MiB that fit in a request`;

const heicRemedy = () =>
  `Convert it to JPEG first${fileSystem() ? ', or install sharp and libheif-js (npm install sharp libheif-js)' : ''}`;

/** Says what to do on a platform that cannot convert images. */
function withoutFitter(isOtherFormat: boolean): string {
  const remedy = isOtherFormat ? accepted : 'Pass its http(s) URL (up to 25 MiB), or make the image smaller';
  // sharp needs a file system.
  return fileSystem()
    ? `${remedy}, or install sharp (npm install sharp) to convert it. In a bundle, pass it: new Gen3d({ sharp })`
    : remedy;
}

const sizeProblem = (name: string, size: number) => invalid(`${name} is ${tooLarge(size)}. Make the image smaller`);

/** Checks the size before reading, to avoid loading a video only to reject it. */
function requireReadable(name: string, size: number): void {
  if (size > maxSourceBytes) throw sizeProblem(name, size);
}

function remote(url: string): string {
  if (/^https?:/i.test(url) && URL.canParse(url)) return url;
  throw invalid(`${url} is not an http(s) URL`);
}

/** Returns the bytes of a data URI, whatever media type it has. White space and base64url are accepted. */
function bytesOfDataUri(uri: string): Uint8Array<ArrayBuffer> {
  const comma = uri.indexOf(',');
  if (!/;\s*base64$/i.test(uri.slice(0, comma))) {
    throw invalid('The data URI of the image is not base64. Pass its bytes, or data:image/jpeg;base64,…');
  }
  const base64 = uri
    .slice(comma + 1)
    .replace(/-/g, '+')
    .replace(/_/g, '/');
  requireReadable('The image', base64.length * 0.75);
  try {
    const text = atob(base64);
    return Uint8Array.from({ length: text.length }, (_, index) => text.charCodeAt(index));
  } catch (cause) {
    throw invalid('The data URI of the image has characters that are not base64, or is not complete', { cause });
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
    requireReadable(name, file.size);
    return bytesIn(await files.readFile(path))!;
  } catch (error) {
    throw error instanceof InvalidRequestError ? error : invalid(readErrorMessage(name, error), { cause: error });
  }
}

function readErrorMessage(name: string, error: unknown): string {
  const code = codeOf(error);
  if (code === 'ENOENT') return `${name} does not exist`;
  if (code === 'EACCES' || code === 'EPERM') return `${name} cannot be read. Check its permissions`;
  return `${name} cannot be read: ${messageOf(error)}`;
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
