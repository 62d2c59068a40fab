import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import express from 'express';
import { expect, onTestFinished, test } from 'vitest';
import { until } from '../../../test/kit.js';
import { createHttpServer, oneRequestAtATime } from './http-server.js';
import { smallJsonBody } from './json-body.js';

async function listening(server: Server): Promise<{ open: (from: string, bytes: string) => Socket; url: string }> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const open = (localAddress: string, bytes: string) => {
    const socket = connect({ port, host: '127.0.0.1', localAddress }).setEncoding('utf8');
    onTestFinished(() => void socket.destroy());
    socket.on('error', () => {}).write(bytes);
    return socket;
  };
  return { open, url: `http://127.0.0.1:${port}` };
}

const app = () => {
  const largeBody = Buffer.alloc(16 * 1024 * 1024);
  return express()
    .post('/', smallJsonBody)
    .get('/large', (_request, response) => void response.write(largeBody))
    .use((_request, response) => void response.send('hello'));
};

const post = (more = '') => `POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 15\r\n${more}\r\n"half`;
const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;

test('the time for a request is limited', () => {
  const server = createHttpServer(app());
  expect(server).toMatchObject({ headersTimeout: 10_000, requestTimeout: 60_000, connectionsCheckingInterval: 5_000 });
});

test.each([
  [64, 'that send nothing', '127.0.0.2', ''],
  [2_048, 'with half a body', '127.0.0.2', post()],
  [64, 'with half a body, through a proxy,', '127.0.0.1', post('X-Forwarded-For: 8.8.8.8\r\n')],
  [64, 'with half a header after a whole request', '127.0.0.2', `${get('/')}GET / HTTP/1.1\r\nHost:`],
  [64, 'with an unread response', '127.0.0.2', get('/large')],
  [64, 'that are idle', '127.0.0.2', get('/')],
])('%i connections of one client %s keep no other client out', async (connections, _, from, bytes) => {
  const server = createHttpServer(app());
  expect(server.maxConnections).toBe(2_048);
  server.maxConnections = connections;
  const { open, url } = await listening(server);
  const upload = open('127.0.0.1', post());
  await once(upload, 'ready');
  const attack = Array.from({ length: connections }, () => open(from, bytes).pause());
  await Promise.all(
    attack.map((socket) => socket.closed || Promise.race([once(socket, 'ready'), once(socket, 'close')])),
  );
  expect(await (await fetch(url)).text()).toBe('hello');
  // The other client's older request is not closed in favor of newer ones.
  upload.write(' and half"');
  expect(String((await Promise.race([once(upload, 'data'), once(upload, 'close')]))[0])).toContain('hello');
});

test('a new connection is served even if every other one waits for the server', async () => {
  const app = express().get('/hello', (_request, response) => void response.send('hello'));
  // Other requests get no response.
  app.use(() => {});
  const server = createHttpServer(app);
  server.maxConnections = 8;
  const { open } = await listening(server);
  let waiting = 0;
  server.on('request', () => waiting++);
  for (let index = 0; index < 6; index++) open('127.0.0.1', get('/wait'));
  await until(async () => waiting === 6);
  expect(String((await once(open('127.0.0.1', get('/hello')), 'data'))[0])).toContain('hello');
});

test('Express changes the prototype of neither request nor response, which would make them slow', async () => {
  const app = express().get('/:name', (request, response) => void response.status(202).json(request.params));
  const server = createHttpServer(app).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const prototypes: unknown[] = [];
  server.prependListener('request', (...messages) => {
    prototypes.push(...messages.map(Object.getPrototypeOf));
    messages[1].once('finish', () => prototypes.push(...messages.map(Object.getPrototypeOf)));
  });
  const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/cup`);
  expect([response.status, await response.json()]).toEqual([202, { name: 'cup' }]);
  expect(prototypes.slice(2)).toEqual(prototypes.slice(0, 2));
  expect(prototypes).toHaveLength(4);
});

async function startServer(listener: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = createServer(oneRequestAtATime(listener)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  /** Sends a request for each path without waiting for responses. */
  return (paths: readonly string[]) => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').setEncoding('utf8');
    onTestFinished(() => void socket.destroy());
    socket.on('error', () => {}).write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`).join(''));
    return socket;
  };
}

test('pipelined requests are handled one after the other, in order', async () => {
  let running = 0;
  let maxRunning = 0;
  const send = await startServer(async (request, response) => {
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
  const send = await startServer((_request, response) => void started.push(response));
  const socket = send(['/a', '/b', '/c']);
  await until(async () => started.length === 1);
  const closed = once(started[0]!, 'close');
  socket.destroy();
  await closed;
  expect(started).toHaveLength(1);
});

test('a client that sends hundreds of requests without reading is disconnected', async () => {
  let started = 0;
  const send = await startServer(() => void started++);
  await once(send(Array.from({ length: 300 }, () => '/a')), 'close');
  expect(started).toBe(1);
});
