import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import express from 'express';
import { expect, onTestFinished, test } from 'vitest';
import { startServer } from '../../../test/kit.js';
import { cutOffUnreadBody } from './unread-body.js';

/** A connection to a server that answers every request without reading its body. */
async function connection(graceMs: number): Promise<Socket> {
  const app = express();
  app.use(cutOffUnreadBody(graceMs));
  app.use((_request, response) => void response.send('answered'));
  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').setEncoding('utf8');
  onTestFinished(() => {
    socket.destroy();
    server.close();
  });
  return socket;
}

const answer = async (socket: Socket) => String((await once(socket, 'data'))[0]);

test('who goes on sending after the answer is cut off', async () => {
  const socket = await connection(0);
  socket.on('error', () => {});
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\nx');
  expect(await answer(socket)).toContain('answered');
  await once(socket, 'close');
});

test('who ends the body in time keeps the connection', async () => {
  const socket = await connection(2_147_483_647);
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\nabc');
  expect(await answer(socket)).toContain('answered');
  socket.write('defGET / HTTP/1.1\r\nHost: x\r\n\r\n');
  expect(await answer(socket)).toContain('answered');
});

test('a body over the limit is refused before its end, which may never come', async () => {
  const { url, apiKey } = await startServer();
  const endless = () =>
    Readable.from(
      (function* () {
        for (;;) yield '10000\r\n'.concat(' '.repeat(65_536), '\r\n');
      })(),
    );
  for (const [header, body] of [
    ['Content-Length: 99999999999', Readable.from(['{'])],
    ['Transfer-Encoding: chunked', endless()],
  ] as const) {
    const socket = connect(Number(new URL(url).port), '127.0.0.1').setEncoding('utf8');
    onTestFinished(() => void socket.destroy());
    socket.on('error', () => {});
    socket.write(`POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nx-api-key: ${apiKey}\r\n${header}\r\n\r\n`);
    body.pipe(socket, { end: false });
    const text = await answer(socket);
    body.destroy();
    expect(text).toMatch(/^HTTP\/1\.1 400 /);
    expect(text).toContain('body: larger than 8192 KiB');
  }
});
