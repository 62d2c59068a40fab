import { isUtf8 } from 'node:buffer';
import { limits, quoted, testKeyBodyBytes } from '@gen3d/schema';
import type { Request, RequestHandler, Response } from 'express';
import { errorMessage } from '../../base/errors.js';
import { HttpError } from '../answers/responses.js';
import type { Caller } from './auth.js';
import { admissionOf, hold, type ServerShares } from './shares.js';

/** Enough for the largest inline image in base64. */
const maxBytes = limits.bodyBytes;
/** Initial buffer for a body without a Content-Length. */
const minBufferBytes = 4 * 1024;

const invalid = (problem: string) => new HttpError(400, 'invalid_request', `body: ${problem}`);

const aborted = () => invalid('the connection closed before the end of the body');

const tooSlow = () => new HttpError(408, 'invalid_request', 'body: took too long to arrive');

/**
 * Calls `take` with each chunk of the body, and resolves at its end. If `take` throws, or the end does not arrive
 * within `timeoutMs`, stops reading and rejects.
 */
function receiveBody(request: Request, take: (chunk: Buffer) => void, timeoutMs?: number): Promise<void> {
  return new Promise((resolve, reject) => {
    // If the client disconnected while its key was looked up, no event follows.
    if (request.destroyed) return reject(aborted());
    const stop = () => {
      clearTimeout(timer);
      request.off('data', onData).off('end', onEnd).off('close', onClose);
    };
    const refuse = (error: unknown) => {
      stop();
      // Discard the rest, so that the client receives the response (see receiveWholeBody).
      request.resume();
      reject(error);
    };
    const timer = timeoutMs === undefined ? undefined : setTimeout(refuse, timeoutMs, tooSlow());
    const onData = (chunk: Buffer) => {
      try {
        take(chunk);
      } catch (error) {
        refuse(error);
      }
    };
    const onEnd = () => {
      stop();
      resolve();
    };
    const onClose = () => {
      stop();
      reject(aborted());
    };
    request.on('data', onData).once('end', onEnd).once('close', onClose);
  });
}

/** Parses JSON in UTF-8, as RFC 8259 (8.1) requires, whatever the Content-Type. */
function parse(body: Buffer): unknown {
  // A missing body is a common mistake, and naming the missing fields helps more than a syntax error.
  if (body.length === 0) return {};
  // Replacing invalid bytes could turn two idempotency keys into the same one.
  if (!isUtf8(body)) throw invalid('not valid UTF-8');
  if (hasTooManyValues(body)) throw invalid(`more than ${maxValues.toLocaleString('en')} values`);
  try {
    return JSON.parse(body.toString().replace(/^\ufeff/, ''));
  } catch (error) {
    // V8's message contains the character and its position.
    throw invalid(`malformed JSON: ${quoted(errorMessage(error))}`);
  }
}

function checkEncoding({ headers }: Request): void {
  const coding = headers['content-encoding'] ?? 'identity';
  if (coding.toLowerCase() !== 'identity') {
    // A few kilobytes can inflate to megabytes, before any of it has been validated.
    throw invalid('Content-Encoding is not supported; send the body uncompressed');
  }
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(headers['content-type'] ?? '')?.[1] ?? 'utf-8';
  if (!/^utf-?8$/i.test(charset)) throw invalid('unsupported charset; send UTF-8');
}

/** Reads a body of at most `limit` bytes. Refuses a larger one by its Content-Length, or when it exceeds the limit. */
async function readBytes(
  request: Request,
  { limit, whose = 'this server', timeoutMs }: { limit: number; whose?: string; timeoutMs?: number },
  growTo: (bytes: number) => void = () => {},
): Promise<Buffer> {
  const tooLarge = () => invalid(`larger than ${limit / 1024} KiB, the limit of ${whose}`);
  checkEncoding(request);
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > limit) throw tooLarge();
  growTo(announced);
  // One buffer: a list of one-byte chunks would take a hundred times the body's size.
  let buffer = Buffer.allocUnsafe(announced);
  let bytes = 0;
  await receiveBody(
    request,
    (chunk) => {
      const end = bytes + chunk.length;
      if (end > limit) throw tooLarge();
      if (end > buffer.length) {
        const larger = Math.min(limit, Math.max(2 * end, minBufferBytes));
        growTo(larger);
        const whole = Buffer.allocUnsafe(larger);
        buffer.copy(whole, 0, 0, bytes);
        buffer = whole;
      }
      chunk.copy(buffer, bytes);
      bytes = end;
    },
    timeoutMs,
  );
  return buffer.subarray(0, bytes);
}

/** Reads the JSON body of an authenticated caller. Its memory is a share of the server's until the response closes. */
export const jsonBody = (services: { shares: ServerShares }): RequestHandler => countedBody(services, parse, maxBytes);

/** Reads an image of an authenticated caller, as `jsonBody` reads JSON. The body becomes a Buffer. */
export const imageBody = (services: { shares: ServerShares }): RequestHandler =>
  countedBody(services, (bytes) => bytes, limits.inlineImageBytes);

const tooManyBodies = () =>
  new HttpError(503, 'internal_error', 'The server is reading too many request bodies at the moment; try again later', {
    'retry-after': '1',
  });

function countedBody(
  { shares }: { shares: ServerShares },
  parseBytes: (bytes: Buffer) => unknown,
  maxBytes: number,
): RequestHandler {
  return async (request, response, next) => {
    // The routes of the operator have no account.
    const { sandbox = false } = (response.locals.caller ?? {}) as Partial<Caller>;
    const bodies = sandbox ? shares.testKeyBodies : shares.bodies;
    const share = hold(bodies, admissionOf(response).holder, response, tooManyBodies);
    response.locals.bodyShare = share;
    const limit = sandbox ? { limit: testKeyBodyBytes, whose: 'the public test key' } : { limit: maxBytes };
    const growTo = (bytes: number) => {
      if (bytes > share.amount && !share.resize(bytes)) throw tooManyBodies();
    };
    request.body = parseBytes(await readBytes(request, limit, growTo));
    next();
  };
}

/** Frees the memory of a body that `jsonBody` read, for a route that responds much later. */
export function releaseBody(request: Request, response: Response): void {
  request.body = undefined;
  response.locals.bodyShare.end();
}

/**
 * Reads the JSON body of a caller that is not authenticated yet: so small that the maximum number of connections limits
 * the memory for all of them, and that 10 s are enough for it.
 */
export const smallJsonBody: RequestHandler = async (request, _response, next) => {
  request.body = parse(await readBytes(request, { limit: 4 * 1024, timeoutMs: 10_000 }));
  next();
};

/** Far more than a request needs. 8 MiB of short values would keep `JSON.parse` and other requests busy for seconds. */
const maxValues = 10_000;

/** Counts commas and brackets: each begins a value. Base64, which is nearly all of a large body, contains none. */
function hasTooManyValues(json: Buffer): boolean {
  let values = 0;
  for (const character of [',', '[', '{']) {
    for (let at = json.indexOf(character); at >= 0; at = json.indexOf(character, at + 1)) {
      if (++values > maxValues) return true;
    }
  }
  return false;
}
