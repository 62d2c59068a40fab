import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { until } from '../../../test/kit.js';
import { oneRequestAtATime } from './one-request-at-a-time.js';

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
