import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ErrorBody } from '@gen3d/schema';
import type { RequestHandler } from 'express';
import { HttpError } from './errors.js';

/** By the code that Node's HTTP parser gives; anything else is a plain 400. */
const refusals: Readonly<Record<string, readonly [status: string, message: string]>> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'The headers are larger than this server accepts'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ['413 Payload Too Large', 'The chunk extensions are larger than this server accepts'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The request took too long to arrive'],
};

/**
 * Answers what never became a request: no HTTP, too many headers, too slow. Without this Node answers with an empty body,
 * and the contract knows no error without one.
 */
export function refuseMalformed(
  error: NodeJS.ErrnoException,
  socket: Socket & { _httpMessage?: ServerResponse },
): void {
  // In the middle of another answer these bytes would become a part of it. Node's own handler looks here as well.
  if (!socket.writable || error.code === 'ECONNRESET' || socket._httpMessage?.headersSent) return void socket.destroy();
  const [status, message] = refusals[error.code ?? ''] ?? ['400 Bad Request', 'This is no HTTP request'];
  const body = JSON.stringify({ error: { code: 'invalid_request', message } } satisfies ErrorBody);
  const headers = [
    'content-type: application/json; charset=utf-8',
    `content-length: ${body.length}`,
    'connection: close',
  ];
  socket.end(`HTTP/1.1 ${status}\r\n${headers.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}

/** Refuses HTTP/1.1 without a Host (RFC 9112, 3.2), which Node's own check would do with an empty body. */
export const requireHost: RequestHandler = ({ httpVersion, headers }, _response, next) => {
  if (headers.host !== undefined || httpVersion === '1.0') return next();
  throw new HttpError(400, 'invalid_request', 'The header Host is missing', { connection: 'close' });
};
