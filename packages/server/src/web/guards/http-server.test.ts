import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import express from 'express';
import { expect, onTestFinished, test } from 'vitest';
import { listening, startServer, until } from '../../../test/kit.js';
import { createHttpServer, oneRequestAtATime, receiveWholeBody } from './http-server.js';

test('the time for a request is limited', () => {
  const server = createHttpServer(express());
  expect(server).toMatchObject({ headersTimeout: 10_000, requestTimeout: 60_000, connectionsCheckingInterval: 5_000 });
});

test('requests and responses have the prototypes of Express before it handles them', async () => {
  const app = express().use((_request, response) => void response.send('hello'));
  const server = createHttpServer(app);
  let seen: unknown[] = [];
  server.prependListener('request', (...messages) => {
    seen = messages.map(Object.getPrototypeOf);
  });
  await (await fetch(`http://127.0.0.1:${await listening(server)}`)).text();
  expect(seen[0]).toBe(app.request);
  expect(seen[1]).toBe(app.response);
});

/** Sends a request and waits for the response on a server that responds without reading bodies. */
async function sendTo(bytes: string): Promise<Socket> {
  const app = express().use(receiveWholeBody, (_request, response) => void response.send('hello'));
  const port = await listening(createHttpServer(app));
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).setEncoding('utf8');
  onTestFinished(() => void socket.destroy());
  socket.write(bytes);
  expect(await responseOn(socket)).toContain('hello');
  return socket;
}

const responseOn = async (socket: Socket) => String((await once(socket, 'data'))[0]);

test('a client that finishes its body after the response keeps its connection', async () => {
  const socket = await sendTo('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\nabc');
  socket.write('defGET / HTTP/1.1\r\nHost: x\r\n\r\n');
  expect(await responseOn(socket)).toContain('hello');
});

test('a connection that the client wants closed is closed after its body, and not before', async () => {
  const post = 'POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 6\r\n\r\nabc';
  const socket = await sendTo(post);
  await once(socket.resume(), 'end');
  const closed = once(socket, 'close');
  socket.end('def');
  await closed;
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
  const { port, apiKey } = await startServer();
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
    const socket = connect(port, '127.0.0.1').setEncoding('utf8');
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

async function startPipeline(listener: (request: IncomingMessage, response: ServerResponse) => void) {
  const port = await listening(createServer(oneRequestAtATime(listener)));
  /** Sends a request for each path without waiting for responses. */
  return (paths: readonly string[]) => {
    const socket = connect(port, '127.0.0.1').setEncoding('utf8');
    onTestFinished(() => void socket.destroy());
    socket.on('error', () => {}).write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`).join(''));
    return socket;
  };
}

test('pipelined requests are handled one after the other, in order', async () => {
  let running = 0;
  let maxRunning = 0;
  const send = await startPipeline(async (request, response) => {
    maxRunning = Math.max(maxRunning, ++running);
    await new Promise((resolve) => setTimeout(resolve, 10));
    running--;
    response.end(`<${request.url}>`);
  });
  const socket = send(['/a', '/b', '/c']);
  let text = '';
  socket.on('data', (part) => (text += part));
  await until(async () => text.includes('</c>'));
  expect(text.match(/<[^>]*>/g)).toEqual(['</a>', '</b>', '</c>']);
  expect(maxRunning).toBe(1);
});

test('the waiting requests of a client that disconnects are not handled', async () => {
  const started: ServerResponse[] = [];
  const send = await startPipeline((_request, response) => void started.push(response));
  const socket = send(['/a', '/b', '/c']);
  await until(async () => started.length === 1);
  const closed = once(started[0]!, 'close');
  socket.destroy();
  await closed;
  expect(started).toHaveLength(1);
});

test('a client that sends hundreds of requests without reading is disconnected', async () => {
  let started = 0;
  const send = await startPipeline(() => void started++);
  await once(send(Array.from({ length: 300 }, () => '/a')), 'close');
  expect(started).toBe(1);
});
