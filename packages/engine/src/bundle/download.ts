import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, open, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { type Dispatcher, interceptors, request } from 'undici';
import { BundleError } from '../base/errors.js';

export interface DownloadOptions {
  readonly url: URL;
  /** Where it is gathered; a part that lies there already is gone on with. Complete once the call resolves. */
  readonly path: string;
  /** What must come: bytes, and their SHA-256 in hexadecimal. */
  readonly size: number;
  readonly sha256: string;
  readonly dispatcher: Dispatcher;
  /** Sent with each request, and not to another host that a redirect leads to. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called with how many of the bytes are there, also those of an earlier try. */
  readonly onProgress?: ((received: number) => void) | undefined;
  /** Before the second try; doubled before each one more that follows one in vain. Default 500. */
  readonly pauseMs?: number | undefined;
}

/** Tries in a row that get no further than any before. One that does starts the count again: a bad line is not a dead one. */
const maxFruitlessTries = 5;

/** What cannot be put right by trying again. */
class Refusal extends BundleError {}

/**
 * Fetches a file piece by piece, over as many connections as it takes, and lets nothing through that is not byte for byte
 * what was asked for.
 *
 * @throws {BundleError} naming the address, and what came instead or why nothing came
 * @throws the signal's reason, once aborted; what has come stays for the next call
 */
export async function download(options: DownloadOptions): Promise<void> {
  const part = await Part.open(options.path);
  try {
    await gather(part, options);
    if (part.digest() !== options.sha256 && part.isPieced) {
      // The first piece may be another version's, or torn by a power cut.
      await part.restart();
      await gather(part, options);
    }
    const actual = part.digest();
    if (actual !== options.sha256) {
      await part.restart();
      throw new BundleError(
        `${options.url} is not the file that the manifest describes: SHA-256 ${actual}, expected ${options.sha256}`,
      );
    }
    await part.sync();
  } finally {
    await part.close();
  }
}

async function gather(part: Part, options: DownloadOptions): Promise<void> {
  const { url, size, signal, pauseMs = 500 } = options;
  if (part.length > size) await part.restart();
  let furthest = part.length;
  let fruitless = 0;
  while (part.length < size) {
    try {
      await fetchRest(part, options);
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof Refusal || isDiskFull(error)) throw error;
      fruitless = part.length > furthest ? 0 : fruitless + 1;
      furthest = Math.max(furthest, part.length);
      if (fruitless === maxFruitlessTries) {
        throw new BundleError(`${url} cannot be fetched: ${reason(error)}`, { cause: error });
      }
      const wait = error instanceof Busy ? error.retryAfterMs : undefined;
      await pause(wait ?? pauseMs * 2 ** fruitless, undefined, { signal }).catch(() => signal?.throwIfAborted());
    }
  }
}

/**
 * Bytes that may wait for the disk. undici 7 ends the process if a connection closes while its body is paused, which a
 * small buffer makes likely. https://github.com/nodejs/undici/issues/5360
 */
const bufferBytes = 64 * 1024 * 1024;

/** One request for what is missing. @throws whatever ended it early */
async function fetchRest(part: Part, options: DownloadOptions): Promise<void> {
  const { url, size, dispatcher, signal, onProgress } = options;
  const headers: Record<string, string> = { ...options.headers, 'accept-encoding': 'identity' };
  if (part.length > 0) {
    headers.range = `bytes=${part.length}-`;
    if (part.validator) headers['if-range'] = part.validator;
  }
  const response = await request(url, {
    headers,
    dispatcher: dispatcher.compose(interceptors.redirect({ maxRedirections: 10 })),
    signal: signal ?? null,
    highWaterMark: bufferBytes,
  });
  // An abort, a refusal or a full disk leaves it unread.
  response.body.on('error', () => {});
  const start = await startOf(response, part, url, size);
  if (start === 0) await part.restart();
  else part.isPieced = true;
  await part.remember(response);
  onProgress?.(part.length);
  for await (const chunk of response.body as AsyncIterable<Buffer>) {
    if (part.length + chunk.length > size) {
      await part.restart();
      throw new Refusal(`${url} is not the file that the manifest describes: more came than its ${size} bytes`);
    }
    await part.append(chunk);
    onProgress?.(part.length);
  }
  if (part.length < size) throw new Error(`the connection ended after ${part.length} of ${size} bytes`);
}

/** The place in the file at which the response's body starts. @throws {Refusal} if it cannot be this file */
async function startOf(
  { statusCode, headers, body }: Dispatcher.ResponseData,
  part: Part,
  url: URL,
  size: number,
): Promise<number> {
  const refuseSize = (found: number): never => {
    body.destroy();
    throw new Refusal(`${url} is not the file that the manifest describes: it has ${found} bytes, expected ${size}`);
  };
  if (statusCode === 206) {
    const [, start, total] = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(text(headers['content-range']) ?? '') ?? [];
    if (total !== undefined && total !== '*' && Number(total) !== size) refuseSize(Number(total));
    if (Number(start) === part.length) return part.length;
    body.destroy();
    await part.restart();
    throw new Error('the server sent another part than it was asked for');
  }
  if (statusCode === 200) {
    const length = text(headers['content-length']);
    if (length !== undefined && Number(length) !== size && !headers['content-encoding']) refuseSize(Number(length));
    return 0;
  }
  body.destroy();
  if (statusCode === 416) {
    await part.restart();
    throw new Error('the server has less of it than came before');
  }
  if (statusCode === 408 || statusCode === 429 || statusCode >= 500) {
    throw new Busy(statusCode, text(headers['retry-after']));
  }
  throw new Refusal(`${url} cannot be fetched: the server answered ${statusCode}`);
}

const text = (header: string | string[] | undefined): string | undefined =>
  Array.isArray(header) ? header[0] : header;

const longestWaitMs = 60_000;

/** The server asks to come back later. */
class Busy extends Error {
  readonly retryAfterMs: number | undefined;

  constructor(status: number, retryAfter: string | undefined) {
    super(`the server answered ${status}`);
    const seconds = Number(retryAfter ?? Number.NaN);
    this.retryAfterMs = Number.isFinite(seconds) ? Math.min(seconds * 1000, longestWaitMs) : undefined;
  }
}

/** The bytes gathered so far, in a file, with their running hash and, beside it, the version of the file they belong to. */
class Part {
  private constructor(
    private readonly path: string,
    private readonly file: FileHandle,
    private hash: Hash,
    public length: number,
    /** An ETag or a date that only an unchanged file answers to. */
    public validator: string | undefined,
    /** Whether it came over more than one connection. */
    public isPieced: boolean,
  ) {}

  static async open(path: string): Promise<Part> {
    const hash = createHash('sha256');
    const length = (await stat(path).catch(() => undefined))?.size ?? 0;
    if (length > 0) await pipeline(createReadStream(path), hash, { end: false });
    const validator = length > 0 ? await readFile(versionPath(path), 'utf8').catch(() => undefined) : undefined;
    return new Part(path, await open(path, 'a'), hash, length, validator, length > 0);
  }

  async append(chunk: Uint8Array): Promise<void> {
    await this.file.appendFile(chunk);
    this.hash.update(chunk);
    this.length += chunk.length;
  }

  async restart(): Promise<void> {
    await truncate(this.path);
    this.hash = createHash('sha256');
    this.length = 0;
    this.validator = undefined;
    this.isPieced = false;
  }

  async remember({ headers }: Dispatcher.ResponseData): Promise<void> {
    const etag = text(headers.etag);
    // A weak ETag promises the same meaning, not the same bytes, and If-Range does not take it.
    this.validator = etag && !etag.startsWith('W/') ? etag : text(headers['last-modified']);
    if (this.validator) await writeFile(versionPath(this.path), this.validator);
    else await rm(versionPath(this.path), { force: true });
  }

  digest(): string {
    return this.hash.copy().digest('hex');
  }

  async sync(): Promise<void> {
    await this.file.sync();
    await rm(versionPath(this.path), { force: true });
  }

  close(): Promise<void> {
    return this.file.close();
  }
}

const versionPath = (path: string) => `${path}.version`;

export const isDiskFull = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT');

/** What fetch says is "fetch failed" or "terminated"; why is in the cause, and in a list of causes where it dialled more than one address. */
export function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof AggregateError && error.errors.length > 0) return reason(error.errors[0]);
  return error.cause instanceof Error && error instanceof TypeError ? reason(error.cause) : error.message;
}
