import { isUtf8 } from 'node:buffer';
import express, { type RequestHandler } from 'express';
import { HttpError } from './errors.js';
import { checkJsonStructure } from './json-structure.js';

/** Room for the largest inline image in base64 and then some. */
const maxBytes = 8 * 1024 * 1024;

/**
 * Reads a JSON body, in UTF-8 as RFC 8259 (8.1) has it. Whatever the Content-Type says: the body is JSON or the request is
 * refused.
 */
export const jsonBody: RequestHandler = express.json({
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
