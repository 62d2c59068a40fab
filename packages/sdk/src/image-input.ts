import { limits, parseImageDataUri } from '@gen3d/schema/rules';
import { fileSystem } from './environment.js';
import { InvalidRequestError } from './errors.js';
import { sniffMediaType } from './media-type.js';

/**
 * A photo: a path (Node, Bun, Deno), an http(s) URL, a data URI, bytes, a Blob or File, or a stream of bytes.
 *
 * A URL is fetched by the server and may hold 25 MiB; everything else travels inside the request and may hold 4 MiB.
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
 * The entry of `image_urls` for a photo.
 *
 * @throws {InvalidRequestError} if it cannot be read, is no PNG, JPEG or WebP, or is too large to travel inline
 */
export async function toImageUrl(image: ImageInput): Promise<string> {
  if (image instanceof URL) return image.protocol === 'file:' ? inline(...(await readFile(image))) : remote(image.href);
  if (typeof image === 'string') {
    if (/^data:/i.test(image)) return dataUri(image);
    if (/^file:\/\//i.test(image)) return inline(...(await readFile(new URL(image))));
    if (/^[a-z][a-z0-9+.-]*:\/\//i.test(image)) return remote(image);
    return inline(...(await readFile(image)));
  }
  if (image instanceof Blob) {
    const name = 'name' in image && typeof image.name === 'string' ? image.name : 'The image';
    refuseLarge(name, image.size);
    return inline(name, new Uint8Array(await image.arrayBuffer()));
  }
  if (image instanceof Uint8Array) return inline('The image', image);
  if (image instanceof ArrayBuffer) return inline('The image', new Uint8Array(image));
  if (image instanceof ReadableStream) return inline('The image', await readStream(image));
  if (typeof image === 'object' && image !== null && Symbol.asyncIterator in image) {
    return inline('The image', await collect(image));
  }
  throw new InvalidRequestError(
    'invalid_request',
    'image must be a path, an http(s) URL, a data URI, bytes, a Blob or a stream of bytes',
  );
}

function inline(name: string, bytes: Uint8Array): string {
  if (bytes.length === 0) throw new InvalidRequestError('invalid_request', `${name} is empty`);
  refuseLarge(name, bytes.length);
  const type = sniffMediaType(bytes);
  if ('found' in type) {
    throw new InvalidRequestError('invalid_request', `${name} is ${type.found}; send a PNG, JPEG or WebP`);
  }
  return `data:${type.mediaType};base64,${base64(bytes)}`;
}

function refuseLarge(name: string, bytes: number): void {
  if (bytes <= limits.inlineImageBytes) return;
  const mebibytes = (bytes / 1024 ** 2).toFixed(1);
  throw new InvalidRequestError(
    'invalid_request',
    `${name} has ${mebibytes} MiB, and an image inside the request may have 4 MiB. Give an http(s) URL of it instead (up to 25 MiB), or make the picture smaller`,
  );
}

function remote(url: string): string {
  if (/^https?:/i.test(url) && URL.canParse(url)) return url;
  throw new InvalidRequestError('invalid_request', `${url} is no http(s) URL`);
}

function dataUri(uri: string): string {
  const parsed = parseImageDataUri(uri);
  if ('problem' in parsed) throw new InvalidRequestError('invalid_request', `The image's data URI ${parsed.problem}`);
  return uri;
}

async function readFile(path: string | URL): Promise<[name: string, bytes: Uint8Array]> {
  const name = String(path);
  const files = fileSystem();
  if (!files) {
    throw new InvalidRequestError(
      'invalid_request',
      `"${name}" looks like a path, and there are no files here: pass a File, a Blob, bytes or a URL`,
    );
  }
  try {
    const { size } = await regularFile(files, path);
    // Before reading: somebody's video must not be loaded only to be refused.
    refuseLarge(name, size);
    return [name, await files.readFile(path)];
  } catch (cause) {
    if (cause instanceof InvalidRequestError) throw cause;
    throw new InvalidRequestError('invalid_request', unreadable(name, cause), { cause });
  }
}

async function regularFile(files: NonNullable<ReturnType<typeof fileSystem>>, path: string | URL) {
  const found = await files.stat(path);
  if (found.isFile()) return found;
  throw new InvalidRequestError('invalid_request', `${String(path)} is not a file`);
}

function unreadable(name: string, cause: unknown): string {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  if (code === 'ENOENT') return `${name} does not exist`;
  if (code === 'EACCES' || code === 'EPERM') return `${name} may not be read: check its permissions`;
  return `${name} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`;
}

// By its reader: not every browser can iterate a stream.
async function readStream(stream: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  const reader = stream.getReader();
  return collect({
    async *[Symbol.asyncIterator]() {
      try {
        for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value;
      } finally {
        await reader.cancel();
      }
    },
  });
}

async function collect(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of chunks) {
    parts.push(part);
    size += part.length;
    refuseLarge('The image', size);
  }
  const bytes = new Uint8Array(size);
  let offset = 0;
  for (const part of parts) {
    bytes.set(part, offset);
    offset += part.length;
  }
  return bytes;
}

// Arguments of one call live on the stack; 32 Ki of them fit everywhere. A multiple of 3 keeps the pieces joinable.
const pieceSize = 3 * 10_922;

/** Standard base64 with padding, without Node's Buffer. */
function base64(bytes: Uint8Array): string {
  let text = '';
  for (let start = 0; start < bytes.length; start += pieceSize) {
    text += btoa(String.fromCharCode(...bytes.subarray(start, start + pieceSize)));
  }
  return text;
}
