import { isUtf8 } from 'node:buffer';
import { limits, quoted, testKeyBodyBytes } from '@gen3d/schema';
import type { Request, RequestHandler, Response } from 'express';
import { errorMessage } from '../../base/errors.js';
import { HttpError } from '../answers/responses.js';
import type { Caller } from './auth.js';
import { type BodyBudget, bodyBudgetBytes } from './body-budget.js';

/** Enough for the largest inline image in base64. */
const maxBytes = limits.bodyBytes;
/** Initial buffer for a body without a Content-Length. */
const minBufferBytes = 4 * 1024;

const invalid = (problem: string) => new HttpError(400, 'invalid_request', `body: ${problem}`);

const aborted = () => invalid('the connection closed before the end of the body');

const tooSlow = () => new HttpError(408, 'invalid_request', 'body: took too long to arrive');

/**
 * Calls `take` with each chunk of the body, and resolves at its end. If `take` throws, or the end does not arrive within
 * `timeoutMs`, stops reading and rejects.
 */
function readBody(request: Request, take: (chunk: Buffer) => void, timeoutMs?: number): Promise<void> {
  return new Promise((resolve, reject) => {
    // If the client disconnected while its key was looked up, no event follows.
    if (request.destroyed) return reject(aborted());
    const stop = () => {
      clearTimeout(timer);
      request.off('data', onData).off('end', onEnd).off('close', onClose);
    };
    const refuse = (error: unknown) => {
      stop();
      // Discard the rest, so that the client receives the response (see closeUnreadBodies).
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
  checkJsonStructure(body);
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
  await readBody(
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

/** Reads the JSON body of an authenticated caller. Its memory counts toward the server's budget until the response closes. */
export const jsonBody = (services: { bodyBudget: BodyBudget }): RequestHandler =>
  countedBody(services, parse, maxBytes);

/** Reads an image of an authenticated caller, as `jsonBody` reads JSON. The body becomes a Buffer. */
export const imageBody = (services: { bodyBudget: BodyBudget }): RequestHandler =>
  countedBody(services, (bytes) => bytes, limits.inlineImageBytes);

function countedBody(
  { bodyBudget }: { bodyBudget: BodyBudget },
  parseBytes: (bytes: Buffer) => unknown,
  maxBytes: number,
): RequestHandler {
  return async (request, response, next) => {
    // The routes of the operator have no account.
    const { accountId = 'operator', sandbox = false } = (response.locals.caller ?? {}) as Partial<Caller>;
    const share = bodyBudget.share(accountId, sandbox ? bodyBudgetBytes.sandbox : undefined);
    if (response.destroyed) throw aborted();
    response.once('close', share.release);
    response.locals.releaseBodyShare = share.release;
    const limit = sandbox ? { limit: testKeyBodyBytes, whose: 'the public test key' } : { limit: maxBytes };
    request.body = parseBytes(await readBytes(request, limit, share.growTo));
    next();
  };
}

/** Frees the memory of a body that `jsonBody` read, for a route that responds much later. */
export function releaseBody(request: Request, response: Response): void {
  request.body = undefined;
  response.locals.releaseBodyShare();
}

/**
 * Reads the JSON body of a caller that is not authenticated yet: so small that the maximum number of connections limits
 * the memory for all of them, and that 10 s are enough for it.
 */
export const smallJsonBody: RequestHandler = async (request, _response, next) => {
  request.body = parse(await readBytes(request, { limit: 4 * 1024, timeoutMs: 10_000 }));
  next();
};

/** Far more than a request needs, and few enough to parse quickly. */
const maxValues = 10_000;
const maxDepth = 100;

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** Finds the quote that ends the string whose first byte is at `start`. */
function endOfString(json: Buffer, start: number): number {
  for (let end = json.indexOf(quote, start); end >= 0; end = json.indexOf(quote, end + 1)) {
    let backslashes = 0;
    while (json[end - 1 - backslashes] === backslash) backslashes++;
    if (backslashes % 2 === 0) return end;
  }
  return json.length;
}

/**
 * Refuses JSON with too many or too deeply nested values before it is parsed: a few megabytes of brackets would keep
 * `JSON.parse`, and so all other requests, busy for seconds. Skips strings, so an inline image costs almost nothing.
 * @throws {HttpError} 400 `invalid_request`
 */
export function checkJsonStructure(json: Buffer): void {
  let values = 1;
  let depth = 0;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (byte === quote) at = endOfString(json, at + 1);
    else if (byte === openBracket || byte === openBrace) {
      depth++;
      values++;
    } else if (byte === closeBracket || byte === closeBrace) depth--;
    else if (byte === comma || byte === colon) values++;
    if (depth > maxDepth) throw new HttpError(400, 'invalid_request', `body: nested deeper than ${maxDepth} levels`);
    if (values > maxValues) {
      throw new HttpError(400, 'invalid_request', `body: more than ${maxValues.toLocaleString('en')} values`);
    }
  }
}
