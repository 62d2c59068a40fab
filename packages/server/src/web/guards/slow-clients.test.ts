import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import express from 'express';
import { expect, onTestFinished, test, vi } from 'vitest';
import { startServer } from '../../../test/kit.js';
import { closeSlowReaders, closeUnreadBodies } from './slow-clients.js';

const totalBytes = 16 * 1024 * 1024;

/** A server whose responses are far larger than what the system buffers for a client. */
async function startLargeFileServer(windowMs: number) {
  const server = createServer((_request, response) => {
    response.setHeader('content-length', totalBytes);
    const part = Buffer.alloc(64 * 1024);
    Readable.from(Array.from({ length: totalBytes / part.length }, () => part)).pipe(response);
  });
  closeSlowReaders(server, { windowMs, checkMs: 50 });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  const [accepted] = await once(server, 'connection');
  return { socket, accepted };
}

test('a client that reads a response one byte at a time is disconnected', async () => {
  const { socket, accepted } = await startLargeFileServer(500);
  socket.on('error', () => {});
  // The socket reads only what its own buffer holds.
  socket.pause().write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  const trickle = setInterval(() => socket.read(1), 50);
  onTestFinished(() => clearInterval(trickle));
  await once(accepted, 'close');
});

test('a client with a slow connection receives the whole response, even if that takes several windows', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const windowMs = 60_000;
  const { socket, accepted } = await startLargeFileServer(windowMs);
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  const sent = () => accepted.bytesWritten - accepted.writableLength;
  const started = performance.now();
  let bytes = 0;
  while (bytes <= totalBytes && !accepted.destroyed) {
    const before = sent();
    while (bytes <= totalBytes && !accepted.destroyed && sent() - before < 64 * 1024) {
      const chunk: Buffer | null = socket.read();
      if (chunk) bytes += chunk.length;
      await new Promise(setImmediate);
    }
    vi.advanceTimersByTime(40_000);
  }
  expect(bytes).toBeGreaterThan(totalBytes);
  expect(performance.now() - started).toBeGreaterThan(2 * windowMs);
});

/** Connects to a server that responds to every request without reading its body. Neither side closes with the other. */
async function connectToIgnorer(graceMs: number): Promise<{ socket: Socket; accepted: Socket }> {
  const app = express();
  app.use(closeUnreadBodies(graceMs));
  app.use((_request, response) => void response.send('hello'));
  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).setEncoding('utf8');
  const [accepted] = await once(server, 'connection');
  onTestFinished(() => {
    socket.destroy();
    server.close();
  });
  return { socket, accepted };
}

const responseOn = async (socket: Socket) => String((await once(socket, 'data'))[0]);

test('a client that keeps sending a body after the response is disconnected', async () => {
  const { socket, accepted } = await connectToIgnorer(0);
  socket.on('error', () => {});
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\nx');
  expect(await responseOn(socket)).toContain('hello');
  await once(accepted, 'close');
});

test('a client that finishes its body in time keeps its connection', async () => {
  const { socket } = await connectToIgnorer(2_147_483_647);
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\nabc');
  expect(await responseOn(socket)).toContain('hello');
  socket.write('defGET / HTTP/1.1\r\nHost: x\r\n\r\n');
  expect(await responseOn(socket)).toContain('hello');
});

test('a connection that the client wants closed is closed after its body, and not before', async () => {
  const { socket, accepted } = await connectToIgnorer(2_147_483_647);
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 6\r\n\r\nabc');
  await once(socket.resume(), 'end');
  expect(accepted.destroyed).toBe(false);
  socket.end('def');
  await once(accepted, 'close');
});

test('a client that wants its connection closed receives the refusal of a large body', async () => {
  const { url } = await startServer();
  const sent = request(`${url}/v1/jobs`, { method: 'POST', agent: false });
  sent.end(Buffer.alloc(20_000_000, ' '));
  sent.on('response', (response) => response.resume());
  const [[response]] = await Promise.all([once(sent, 'response'), once(sent, 'close')]);
  expect(response.statusCode).toBe(403);
});

test('a body over the limit is refused before its end', async () => {
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
    const text = await responseOn(socket);
    body.destroy();
    expect(text).toMatch(/^HTTP\/1\.1 400 /);
    expect(text).toContain('body: larger than 8192 KiB');
  }
});
