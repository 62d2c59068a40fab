import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { ErrorBody, forbiddenBody } from '@gen3d/schema';
import { expect, test } from 'vitest';
import { sharedServer } from '../contract/kit.js';

const { server } = sharedServer();

/** Sends the bytes, reads until the server closes the connection, and returns the status and the body. */
async function exchange(bytes: string): Promise<{ status: number; body: unknown }> {
  const socket = connect(server().port, '127.0.0.1');
  // A server that refuses a request before its end may reset the connection after the response.
  socket.on('error', () => {});
  socket.write(bytes, 'latin1');
  const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n');
  return { status: Number(head.split(' ')[1]), body: body && JSON.parse(body) };
}

const host = 'Host: localhost\r\nConnection: close\r\n';

test.each([
  ['a request that is not HTTP', 'hello\r\n\r\n', 400],
  ['an invalid method', `G@T /v1/jobs HTTP/1.1\r\n${host}\r\n`, 400],
  ['a header without a colon', `GET /v1/jobs HTTP/1.1\r\n${host}nonsense\r\n\r\n`, 400],
  ['a NUL in a header', `GET /v1/jobs HTTP/1.1\r\n${host}X-A: a\0b\r\n\r\n`, 400],
  ['an invalid Content-Length', `POST /v1/jobs HTTP/1.1\r\n${host}Content-Length: -1\r\n\r\n`, 400],
  [
    'a body with both Content-Length and Transfer-Encoding',
    `POST /v1/jobs HTTP/1.1\r\n${host}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    400,
  ],
  ['HTTP/1.1 without a Host', 'GET /v1/jobs HTTP/1.1\r\n\r\n', 400],
  ['a second Host', `GET /v1/jobs HTTP/1.1\r\n${host}Host: example.com\r\n\r\n`, 400],
  ['20 kB of headers', `GET /v1/jobs HTTP/1.1\r\n${host}X-A: ${'a'.repeat(20_000)}\r\n\r\n`, 431],
  ['20 kB of path', `GET /v1/jobs/${'a'.repeat(20_000)} HTTP/1.1\r\n${host}\r\n`, 431],
])('%s is refused in the standard shape', async (_what, bytes, expected) => {
  const { status, body } = await exchange(bytes);
  expect(status).toBe(expected);
  expect(ErrorBody.parse(body).error.code).toBe('invalid_request');
  expect((await server().call('GET', '/v1/balance')).status).toBe(200);
});

test.each([
  ['an unknown expectation', `GET /v1/jobs HTTP/1.1\r\n${host}Expect: miracles\r\n\r\n`],
  [
    'an unsupported upgrade',
    `GET /v1/jobs HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n`,
  ],
])('%s still gets 403 without a key', async (_what, bytes) => {
  expect(await exchange(bytes)).toEqual({ status: 403, body: forbiddenBody });
});
