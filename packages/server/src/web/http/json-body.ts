import { isUtf8 } from 'node:buffer';
import { quoted } from '@gen3d/schema';
import type { Request, RequestHandler } from 'express';
import type { Caller } from './auth.js';
import { bodyBudgetBytes } from './body-budget.js';
import { HttpError } from './errors.js';
import { checkJsonStructure } from './json-structure.js';
import type { Services } from './services.js';

/** Room for the largest inline image in base64 and then some. */
const maxBytes = 8 * 1024 * 1024;
/** Where the buffer of a body without a Content-Length begins. */
const minBufferBytes = 4 * 1024;
/** The public test key returns a fixed sample, so it needs no large image. */
const maxSandboxBytes = 256 * 1024;

const invalid = (problem: string) => new HttpError(400, 'invalid_request', `body: ${problem}`);

const aborted = () => invalid('the connection closed before its end');

/** Calls `take` with each part of the body, and resolves at its end. Rejects with what `take` throws, and reads no more then. */
function readBody(request: Request, take: (chunk: Buffer) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    // The client may have gone away while its key was looked up, and then no event follows.
    if (request.destroyed) return reject(aborted());
    const stop = () => request.off('data', onData).off('end', onEnd).off('close', onClose);
    const onData = (chunk: Buffer) => {
      try {
        take(chunk);
      } catch (error) {
        stop();
        // The rest is discarded, so that the client gets to see the response (see unread-body.ts).
        request.resume();
        reject(error);
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

function parse(body: Buffer): unknown {
  // A request without a body is a common mistake; its first missing field says more than a syntax error.
  if (body.length === 0) return {};
  // Replacing invalid bytes would make one idempotency key of two.
  if (!isUtf8(body)) throw invalid('not valid UTF-8');
  checkJsonStructure(body);
  try {
    return JSON.parse(body.toString().replace(/^\ufeff/, ''));
  } catch (error) {
    // V8's message says which character is wrong, and where.
    throw invalid(`malformed JSON: ${quoted(error instanceof Error ? error.message : String(error))}`);
  }
}

function checkEncoding({ headers }: Request): void {
  const coding = headers['content-encoding'] ?? 'identity';
  if (coding.toLowerCase() !== 'identity') {
    // A few kilobytes can inflate to megabytes, which would take memory before any of it has been validated.
    throw invalid('Content-Encoding is not supported; send the body uncompressed');
  }
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(headers['content-type'] ?? '')?.[1] ?? 'utf-8';
  if (!/^utf-?8$/i.test(charset)) throw invalid('unsupported charset; send UTF-8');
}

/**
 * Reads a JSON body of at most `limit` bytes into `request.body`, in UTF-8 as RFC 8259 (8.1) requires. Refuses a larger
 * one by its Content-Length, or when it passes the limit. Whatever the Content-Type says, the body must be JSON.
 */
async function readJson(
  request: Request,
  { limit, whose = 'this server' }: { limit: number; whose?: string },
  growTo: (bytes: number) => void = () => {},
): Promise<void> {
  const tooLarge = () => invalid(`larger than ${limit / 1024} KiB, the limit of ${whose}`);
  checkEncoding(request);
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > limit) throw tooLarge();
  growTo(announced);
  // One buffer: a list of chunks takes a hundred times the body's size when each of them is a byte.
  let buffer = Buffer.allocUnsafe(announced);
  let bytes = 0;
  await readBody(request, (chunk) => {
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
  });
  request.body = parse(buffer.subarray(0, bytes));
}

/**
 * The JSON body of an authenticated caller. Its memory counts toward the server's budget until the response is closed,
 * however that happens.
 */
export function jsonBody({ bodyBudget }: Pick<Services, 'bodyBudget'>): RequestHandler {
  return async (request, response, next) => {
    // The operator's own routes have no account.
    const { accountId = 'operator', sandbox = false } = (response.locals.caller ?? {}) as Partial<Caller>;
    const share = bodyBudget.share(accountId, sandbox ? bodyBudgetBytes.sandbox : undefined);
    if (response.destroyed) throw aborted();
    response.once('close', share.release);
    const limit = sandbox ? { limit: maxSandboxBytes, whose: 'the public test key' } : { limit: maxBytes };
    await readJson(request, limit, share.growTo);
    next();
  };
}

/**
 * The JSON body of a caller who has not shown a key or a password yet. So small that the number of connections bounds what
 * all of them take together.
 */
export const smallJsonBody: RequestHandler = async (request, _response, next) => {
  await readJson(request, { limit: 4 * 1024 });
  next();
};
