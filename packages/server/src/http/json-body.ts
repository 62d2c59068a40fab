import { isUtf8 } from 'node:buffer';
import express, { type RequestHandler } from 'express';
import { HttpError } from './errors.js';
import { checkJsonStructure } from './json-structure.js';

/** Room for the largest inline image in base64 and then some. */
const maxBytes = 8 * 1024 * 1024;

const tooLarge = () => new HttpError(400, 'invalid_request', 'body: larger than this server accepts');

const parse = express.json({
  limit: maxBytes,
  type: () => true,
  strict: false,
  verify(_request, _response, body, encoding) {
    if (encoding !== 'utf-8') throw new HttpError(400, 'invalid_request', 'body: unsupported charset; send UTF-8');
    // Replacing what is no character would make one idempotency key of two.
    if (!isUtf8(body)) throw new HttpError(400, 'invalid_request', 'body: not valid UTF-8');
    checkJsonStructure(body);
  },
});

/**
 * Reads a JSON body, in UTF-8 as RFC 8259 (8.1) has it. A larger one is refused by its Content-Length, or where it passes
 * the limit, and never held in memory. Whatever the Content-Type says: the body is JSON or the request is refused.
 */
export const jsonBody: RequestHandler = (request, response, next) => {
  if (Number(request.headers['content-length']) > maxBytes) throw tooLarge();
  let bytes = 0;
  // body-parser has the same limit, but reads the body to its end, if it has one, before it says so.
  const count = (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= maxBytes) return;
    request.off('data', count);
    next(tooLarge());
  };
  request.on('data', count);
  parse(request, response, (error?: unknown) => {
    request.off('data', count);
    if (bytes <= maxBytes) next(error);
  });
};
