import { type FileHandle, open, truncate } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { BundleError, sha256Of } from '@gen3d/engine/bundles';
import { type Dispatcher, interceptors, request } from 'undici';

export interface DownloadOptions {
  readonly url: URL;
  /** The file to write. If it exists, the download resumes where it ends. It is complete once the call resolves. */
  readonly path: string;
  /** Expected size in bytes and SHA-256 in hexadecimal. */
  readonly size: number;
  readonly sha256: string;
  readonly dispatcher: Dispatcher;
  /** Sent with each request, but not to another host after a redirect. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called with the number of bytes received, including earlier tries. */
  readonly onProgress?: ((received: number) => void) | undefined;
  /** How many milliseconds to wait before the second try. Doubles after each try without progress. Default 500. */
  readonly pauseMs?: number | undefined;
}

/** Maximum consecutive tries without progress. A try with progress resets the count. */
const maxTriesWithoutProgress = 5;

/** A failure that another try cannot fix. */
class PermanentError extends BundleError {}

/** A failure after which another pull can resume. */
export class UnfinishedError extends BundleError {}

/**
 * Fetches a file in pieces, over as many connections as needed, and checks its SHA-256.
 *
 * @throws {BundleError} naming the URL and the problem
 * @throws the signal's reason, once aborted; the next call resumes from the received bytes
 */
export async function download(options: DownloadOptions): Promise<void> {
  const { url, path, sha256 } = options;
  const file = await open(path, 'a');
  try {
    const length = (await file.stat()).size;
    const part: Part = { path, file, length, isPieced: length > 0 };
    for (const isLastTry of [false, true]) {
      await fetchAll(part, options);
      await file.sync();
      const actual = await sha256Of(path);
      if (actual === sha256) return;
      // The first piece may be of another version, or damaged by a power cut.
      const mayBeMixed = part.isPieced && !isLastTry;
      await restart(part);
      if (!mayBeMixed) {
        throw new BundleError(
          `Checksum mismatch for ${url}: expected SHA-256 ${sha256}, got ${actual}. Try again, or tell its publisher`,
        );
      }
    }
  } finally {
    await file.close();
  }
}

/** The part of a file that has arrived. */
interface Part {
  readonly path: string;
  /** The file is open for appending. */
  readonly file: FileHandle;
  length: number;
  /** Whether the bytes came over more than one connection. */
  isPieced: boolean;
}

async function restart(part: Part): Promise<void> {
  // Uses the path, because Windows does not shorten a file through a handle that only appends.
  await truncate(part.path);
  part.length = 0;
  part.isPieced = false;
}

async function fetchAll(part: Part, options: DownloadOptions): Promise<void> {
  const { url, size, signal, pauseMs = 500 } = options;
  if (part.length > size) await restart(part);
  let furthest = part.length;
  let triesWithoutProgress = 0;
  while (part.length < size) {
    try {
      await fetchRest(part, options);
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof PermanentError || isDiskFull(error)) throw error;
      triesWithoutProgress = part.length > furthest ? 0 : triesWithoutProgress + 1;
      furthest = Math.max(furthest, part.length);
      if (triesWithoutProgress === maxTriesWithoutProgress) {
        throw new UnfinishedError(`${url} cannot be fetched: ${reason(error)}`, { cause: error });
      }
      const wait = error instanceof BusyError ? error.retryAfterMs : undefined;
      await pause(wait ?? pauseMs * 2 ** triesWithoutProgress, undefined, { signal }).catch(() =>
        signal?.throwIfAborted(),
      );
    }
  }
}

/**
 * Bytes that may be buffered before they are written. undici 7 ends the process if a connection closes while its body
 * is paused, which a small buffer makes likely. https://github.com/nodejs/undici/issues/5360
 */
const bufferBytes = 64 * 1024 * 1024;

/** Requests the missing bytes once. @throws the error that ended the response early */
async function fetchRest(part: Part, options: DownloadOptions): Promise<void> {
  const { url, size, dispatcher, signal, onProgress } = options;
  const headers: Record<string, string> = { ...options.headers, 'accept-encoding': 'identity' };
  if (part.length > 0) headers.range = `bytes=${part.length}-`;
  const response = await request(url, {
    headers,
    dispatcher: dispatcher.compose(interceptors.redirect({ maxRedirections: 10 })),
    signal: signal ?? null,
    highWaterMark: bufferBytes,
  });
  // After an abort, a PermanentError or a full disk, the body is left unread.
  response.body.on('error', () => {});
  const start = await startOf(response, part, url, size);
  if (start === 0) await restart(part);
  else part.isPieced = true;
  onProgress?.(part.length);
  for await (const chunk of response.body as AsyncIterable<Buffer>) {
    if (part.length + chunk.length > size) {
      await restart(part);
      throw new PermanentError(
        `Size mismatch for ${url}: the manifest says ${size} bytes, and the server sent more than that. Tell its publisher`,
      );
    }
    await part.file.appendFile(chunk);
    part.length += chunk.length;
    onProgress?.(part.length);
  }
  if (part.length < size) throw new Error(`the connection ended after ${part.length} of ${size} bytes`);
}

/** Returns the offset in the file at which the body starts. @throws {PermanentError} if it cannot be this file */
async function startOf(
  { statusCode, headers, body }: Dispatcher.ResponseData,
  part: Part,
  url: URL,
  size: number,
): Promise<number> {
  const refuseSize = (found: number): never => {
    body.destroy();
    throw new PermanentError(
      `Size mismatch for ${url}: the manifest says ${size} bytes, and it has ${found}. Tell its publisher`,
    );
  };
  if (statusCode === 206) {
    const [, start, total] = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(text(headers['content-range']) ?? '') ?? [];
    if (total !== undefined && total !== '*' && Number(total) !== size) refuseSize(Number(total));
    if (Number(start) === part.length) return part.length;
    body.destroy();
    await restart(part);
    throw new Error('the server sent a different range than requested');
  }
  if (statusCode === 200) {
    const length = text(headers['content-length']);
    if (length !== undefined && Number(length) !== size && !headers['content-encoding']) refuseSize(Number(length));
    return 0;
  }
  body.destroy();
  if (statusCode === 416) {
    await restart(part);
    throw new Error('the server has fewer bytes than it sent before');
  }
  if (statusCode === 408 || statusCode === 429 || statusCode >= 500) {
    throw new BusyError(statusCode, text(headers['retry-after']));
  }
  throw new PermanentError(`${url} cannot be fetched: the server responded with ${statusCode}`);
}

const text = (header: string | string[] | undefined): string | undefined =>
  Array.isArray(header) ? header[0] : header;

const maxRetryAfterMs = 60_000;

/** The server is busy or failed temporarily, so a later try may succeed. */
class BusyError extends Error {
  readonly retryAfterMs: number | undefined;

  constructor(status: number, retryAfter: string | undefined) {
    super(`the server responded with ${status}`);
    const seconds = Number(retryAfter ?? Number.NaN);
    this.retryAfterMs = Number.isFinite(seconds) ? Math.min(seconds * 1000, maxRetryAfterMs) : undefined;
  }
}

/** Whether the disk, or the user's share of it, has no space left. */
export const isDiskFull = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'ENOSPC' || error.code === 'EDQUOT');

/**
 * Finds the reason for an error. fetch itself only says "fetch failed" or "terminated"; the reason is in the cause, or
 * in a list of causes if it tried several addresses.
 */
export function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof AggregateError && error.errors.length > 0) return reason(error.errors[0]);
  return error.cause instanceof Error && error instanceof TypeError ? reason(error.cause) : error.message;
}
