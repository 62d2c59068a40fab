import {
  describeFileType,
  inlineImageTypes,
  isPhotoType,
  labelOfUrl,
  limits,
  parseImageDataUri,
  photoFormatChoice,
  sniffedBytes,
  sniffFileType,
} from '@gen3d/schema/rules';
import { fileSystem } from './environment.js';
import { InvalidRequestError } from './errors.js';
import { type Bitmap, imageFitter, maxSourceBytes } from './fit-image.js';
import { loadLibheif } from './heic.js';
import { chunksOf } from './response-bodies.js';

/**
 * A photo: a path (Node, Bun, Deno), an http(s) URL, a data URI, bytes, a Blob or File, or a stream of bytes.
 *
 * The server fetches a URL, whose image may be up to 25 MiB. All other images are part of the request: PNG, JPEG or WebP
 * of up to 4 MiB. Browsers scale larger images to the 2048 pixels that the server uses, and convert other formats that
 * they can decode. So do other platforms if the package `sharp` is installed, and for HEIC `libheif-js`. Of the browsers, only
 * Safari can decode HEIC. A data URI is sent unchanged.
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
 * Converts a photo to an entry of `image_urls`.
 *
 * @param maxBytes sends only the start of a larger image
 * @throws {InvalidRequestError} if it cannot be read, or is not a PNG, JPEG or WebP of at most 4 MiB and this platform
 *   cannot make it one
 */
export async function toImageUrl(image: ImageInput, maxBytes?: number): Promise<string> {
  const source = await read(image);
  if (typeof source === 'string') return source;
  return `data:${source.type};base64,${base64(new Uint8Array(await source.slice(0, maxBytes).arrayBuffer()))}`;
}

/** Returns a URL that can be sent as it is, or an image that can be part of a request. */
async function read(image: ImageInput): Promise<string | Blob> {
  if (image instanceof URL) return image.protocol === 'file:' ? inlineFile(image) : remote(image.href);
  if (image === '') throw invalid('image is an empty string. Pass a path, an http(s) URL or a data URI');
  if (typeof image === 'string') {
    if (/^data:/i.test(image)) return dataUri(image);
    if (/^file:\/\//i.test(image)) return inlineFile(new URL(image));
    return /^[a-z][a-z0-9+.-]*:\/\//i.test(image) ? remote(image) : inlineFile(image);
  }
  if (image instanceof Blob || image instanceof Uint8Array) return inline(image);
  if (image instanceof ArrayBuffer) return inline(new Uint8Array(image));
  if (image instanceof ReadableStream) return inline(await collect(chunksOf(image)));
  if (typeof image === 'object' && image !== null && Symbol.asyncIterator in image) return inline(await collect(image));
  throw invalid('image must be a path, an http(s) URL, a data URI, bytes, a Blob or a stream of bytes');
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

const invalid = (message: string, options?: ErrorOptions) =>
  new InvalidRequestError('invalid_request', message, options);

export interface PrepareImageOptions {
  /** Names the image in error messages. Default: the name of a `File`. */
  readonly name?: string | undefined;
  /** Scales the image to at most this many pixels a side, even if it would fit. */
  readonly maxSide?: number | undefined;
  /** Decodes an image to an `ImageBitmap`, for formats that not all browsers support. Default: `createImageBitmap`. */
  readonly decode?: ((image: Blob) => Promise<Bitmap>) | undefined;
}

/**
 * Makes an image part of a request: a PNG, JPEG or WebP of at most 4 MiB. An image that fits is returned as it is.
 * `create` calls this itself; call it to show or store what is sent.
 *
 * @throws {InvalidRequestError} if the image is not one, or this platform cannot convert it
 * @example
 * const photo = await prepareImage(file);
 * preview.src = URL.createObjectURL(photo);
 * await gen3d.jobs.create({ image: photo });
 */
export async function prepareImage(image: Blob, options: PrepareImageOptions = {}): Promise<Blob> {
  const { name = nameIn(image) ?? 'The image', maxSide, decode } = options;
  requireReadable(name, image.size);
  if (image.size === 0) throw invalid(`${name} is empty`);
  const type = sniffFileType(new Uint8Array(await image.slice(0, sniffedBytes).arrayBuffer()));
  const mediaType = inlineImageTypes.find((one) => one === `image/${type}`);
  if (mediaType && image.size <= limits.inlineImageBytes && maxSide === undefined) {
    return image.type === mediaType ? image : image.slice(0, image.size, mediaType);
  }
  const problem = `${name} is ${mediaType ? tooLarge(image.size) : describeFileType(type)}`;
  if (!isPhotoType(type)) throw invalid(`${problem}. Send a ${photoFormatChoice}`);
  const isHeic = type === 'heic' && !decode;
  const fit = await imageFitter();
  if (!fit) throw invalid(`${problem}. ${isHeic ? heicRemedy() : withoutFitter(!mediaType)}`);
  const fitted = await fit(image, { isJpeg: type === 'jpeg', isHeic, maxSide, decode }).catch(
    async (cause: unknown) => {
      if (isHeic && !(await loadLibheif())) {
        throw invalid(`${problem}, which cannot be decoded here. ${heicRemedy()}`, { cause });
      }
      const cannotDecode = mediaType ? `${name} cannot be decoded` : `${problem} that cannot be decoded here`;
      throw invalid(`${cannotDecode}. Check that the file is complete, or save it as PNG, JPEG or WebP`, { cause });
    },
  );
  if (!fitted) throw invalid(`${problem}, and cannot be made smaller here. Make the image smaller`);
  return fitted;
}

const inline = (image: Blob | Uint8Array, name?: string): Promise<Blob> =>
  prepareImage(image instanceof Blob ? image : new Blob([image as Uint8Array<ArrayBuffer>]), { name });

const accepted = 'Send a PNG, JPEG or WebP';

const mebibytes = (size: number) => `${(size / 1024 ** 2).toFixed(1)} MiB`;

const tooLarge = (size: number) => `${mebibytes(size)}, more than the 4 MiB that fit in a request`;

const heicRemedy = () =>
  `Convert it to JPEG first${fileSystem() ? ', or install sharp and libheif-js (npm install sharp libheif-js)' : ''}`;

/** Says what to do on a platform that cannot convert images. */
function withoutFitter(isOtherFormat: boolean): string {
  const remedy = isOtherFormat ? accepted : 'Pass its http(s) URL (up to 25 MiB), or make the image smaller';
  // sharp needs a file system.
  return fileSystem() ? `${remedy}, or install sharp (npm install sharp) to convert it` : remedy;
}

/** Checks the size before reading, to avoid loading a video only to reject it. */
function requireReadable(name: string, size: number): void {
  if (size > maxSourceBytes) throw invalid(`${name} is ${tooLarge(size)}. Make the image smaller`);
}

function remote(url: string): string {
  if (/^https?:/i.test(url) && URL.canParse(url)) return url;
  throw invalid(`${url} is not an http(s) URL`);
}

function dataUri(uri: string): string {
  const parsed = parseImageDataUri(uri);
  if ('problem' in parsed) throw invalid(`The image's data URI ${parsed.problem}`);
  return uri;
}

async function inlineFile(path: string | URL): Promise<Blob> {
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
    return await inline(await files.readFile(path), name);
  } catch (error) {
    throw error instanceof InvalidRequestError ? error : invalid(readErrorMessage(name, error), { cause: error });
  }
}

function readErrorMessage(name: string, error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT') return `${name} does not exist`;
  if (code === 'EACCES' || code === 'EPERM') return `${name} cannot be read. Check its permissions`;
  return `${name} cannot be read: ${error instanceof Error ? error.message : String(error)}`;
}

async function collect(chunks: AsyncIterable<Uint8Array>): Promise<Blob> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for await (const part of chunks) {
    parts.push(part as Uint8Array<ArrayBuffer>);
    size += part.length;
    requireReadable('The image', size);
  }
  return new Blob(parts);
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
