import type { ServerResponse } from 'node:http';

/**
 * Answers with JSON. Express' own `json` would weigh entity tags and `If-None-Match` as well, and a poll would get the 304
 * that the contract does not have.
 */
export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body);
  response.statusCode = status;
  response.setHeader('content-type', 'application/json; charset=utf-8');
  response.setHeader('content-length', Buffer.byteLength(text));
  response.end(text);
}
